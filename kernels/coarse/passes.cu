#include "kernels/coarse/launch.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/collectives/lanes.cuh"
#include "kernels/collectives/load_once.cuh"
#include "kernels/launch/grid.hpp"

namespace blockjacobi::kernels {

namespace {

__device__ bool has_stopped(const int* stop) { return stop != nullptr && *stop != 0; }

/// The sum over `lanes`, in each of them; the same order whatever the values.
template <int W, class C>
__device__ C sum_over(const Lanes<W>& lanes, C sum) {
#pragma unroll
  for (int half = W / 2; half > 0; half /= 2) sum += lanes.broadcast(sum, lanes.rank ^ half);
  return sum;
}

/// What a lane has of piece p of row c of a x.
template <class C>
__device__ C part_of_row(const CsrView<C, std::int32_t>& a, int row, int p, int pieces, int lane, const C* x) {
  constexpr int K = sizeof(C) > 8 ? 2 : 4;  // entries on the way at once
  const offset_t first = a.row_offsets[row], length = a.row_offsets[row + 1] - first;
  const int end = static_cast<int>(first + length * (p + 1) / pieces);
  C sum{};
  for (int k = static_cast<int>(first + length * p / pieces) + lane; k < end; k += 32 * K) {
    index_t columns[K];
    C values[K];
#pragma unroll
    for (int i = 0; i < K; ++i) {
      const bool exists = k + 32 * i < end;
      columns[i] = exists ? load_once(a.columns + k + 32 * i) : index_t{-1};
      values[i] = exists && a.values != nullptr ? load_once(a.values + k + 32 * i) : detail::from_real<C>(1);
    }
#pragma unroll
    for (int i = 0; i < K; ++i)
      if (columns[i] >= 0) sum += values[i] * x[columns[i]];
  }
  return sum;
}

template <class C>
__global__ void __launch_bounds__(coarse_restriction_policy.threads)
    coarse_restrict_kernel(const CsrView<C, std::int32_t> a, const C* x, const CsrView<C, std::int32_t> b, const C* y,
                           int pieces, C* partials, const int* stop) {
  constexpr int warps = coarse_restriction_policy.threads / 32;
  if (has_stopped(stop)) return;
  const offset_t task = static_cast<offset_t>(blockIdx.x) * warps + threadIdx.x / 32;
  const auto row = static_cast<int>(task / pieces);
  if (row >= a.rows) return;  // whole warps leave
  const auto lanes = Lanes<32>::current();
  const int p = static_cast<int>(task) - row * pieces;
  C sum = part_of_row(a, row, p, pieces, lanes.rank, x);
  if (y != nullptr) sum -= part_of_row(b, row, p, pieces, lanes.rank, y);
  sum = sum_over(lanes, sum);
  if (lanes.rank == 0) partials[task] = sum;
}

template <class C>
__device__ C scaled(const detail::arithmetic_real_t<C>* scale, int i, C a) {
  return scale != nullptr ? scale[i] * a : a;
}

/// What a lane has of X s: of row `row`, every `step`-th column from `first` on. All of a batch is on its way at once.
template <int step, class C, class S>
__device__ C part_of_product(int order, const S* elements, int row, int first, const C* s) {
  constexpr int K = sizeof(S) > 8 ? 4 : 8;
  C sum{};
  for (int j = first; j < order; j += K * step) {
    S x[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      x[k] = j + k * step < order ? load_again(elements + static_cast<offset_t>(j + k * step) * order + row) : S{};
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (j + k * step < order) sum += detail::convert<C>(x[k]) * s[j + k * step];
  }
  return sum;
}

/// A thread block has `rows` rows of X, each warp a share of its columns; lanes that have one column stand together.
template <int rows, class C, class S>
__global__ void __launch_bounds__(coarse_solve_threads, 1)
    coarse_solve_kernel(const detail::CoarseInverseArrays<C, S> inverse, int pieces, const C* partials, C* c,
                        const int* stop) {
  constexpr int threads = coarse_solve_threads, warps = threads / 32, columns = 32 / rows;
  extern __shared__ __align__(16) unsigned char memory[];
  C* const s = reinterpret_cast<C*>(memory);
  C* const sums = s + inverse.order;  // of each warp
  if (has_stopped(stop)) return;
  const int m = inverse.order;
  for (int j = static_cast<int>(threadIdx.x); j < m; j += threads) {
    C sum{};
    for (int p = 0; p < pieces; ++p) sum += partials[static_cast<offset_t>(j) * pieces + p];
    s[j] = scaled(inverse.scale, j, sum);
  }
  __syncthreads();

  const auto lanes = Lanes<32>::current();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int own = lanes.rank % rows, row = static_cast<int>(blockIdx.x) * rows + own;
  C sum{};
  if (row < m) {
    const int first = warp * columns + lanes.rank / rows;
    if (inverse.single != nullptr && *inverse.is_single != 0)
      sum = part_of_product<warps * columns>(m, inverse.single, row, first, s);
    else
      sum = part_of_product<warps * columns>(m, inverse.full, row, first, s);
  }
#pragma unroll
  for (int distance = 16; distance >= rows; distance /= 2) sum += lanes.broadcast(sum, lanes.rank ^ distance);
  if (lanes.rank < rows) sums[warp * rows + own] = sum;
  __syncthreads();
  if (threadIdx.x >= rows || row >= m) return;
  sum = C{};
#pragma unroll
  for (int w = 0; w < warps; ++w) sum += sums[w * rows + own];
  c[row] = scaled(inverse.scale, row, sum);
}

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_prolong_kernel(const detail::CoarseBasisArrays<C> basis, const C* c, const C* in, C* z) {
  const offset_t i = static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x;
  if (i >= basis.rows) return;
  const C sum = detail::prolonged(basis, i, c);
  z[i] = in != nullptr ? in[i] + sum : sum;
}

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_subtract_product_kernel(const CsrView<C, std::int32_t> a, const C* c, const C* in, C* out) {
  const offset_t i = static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x;
  if (i >= a.rows) return;
  C rest = in[i];
  for (int k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) rest -= a.values[k] * c[a.columns[k]];
  out[i] = rest;
}

template <int rows, class C, class S>
void launch_solve(const detail::CoarseInverseArrays<C, S>& inverse, index_t pieces, const C* partials, C* c,
                  const int* stop, CUstream_st* stream) {
  constexpr int warps = coarse_solve_threads / 32;
  const std::size_t bytes = static_cast<std::size_t>(inverse.order + warps * rows) * sizeof(C);
  allow_shared_memory(coarse_solve_kernel<rows, C, S>, bytes);
  const unsigned ctas = grid_for(inverse.order, rows, "coarse_solve_kernel");
  coarse_solve_kernel<rows><<<ctas, coarse_solve_threads, bytes, stream>>>(inverse, pieces, partials, c, stop);
  check_launch("coarse_solve_kernel");
}

}  // namespace

template <class C>
void coarse_restrict(const CsrView<C, std::int32_t>& a, const C* x, const CsrView<C, std::int32_t>& b, const C* y,
                     index_t pieces, C* partials, const int* stop, CUstream_st* stream) {
  constexpr int threads = coarse_restriction_policy.threads;
  const unsigned ctas = grid_for(offset_t{a.rows} * pieces, threads / 32, "coarse_restrict_kernel");
  coarse_restrict_kernel<<<ctas, threads, 0, stream>>>(a, x, b, y, pieces, partials, stop);
  check_launch("coarse_restrict_kernel");
}

template <class C, class S>
void coarse_solve(const detail::CoarseInverseArrays<C, S>& inverse, index_t pieces, const C* partials, C* c,
                  const int* stop, CUstream_st* stream) {
  switch (coarse_solve_rows(current_device(), inverse.order)) {
    case 8: return launch_solve<8>(inverse, pieces, partials, c, stop, stream);
    case 16: return launch_solve<16>(inverse, pieces, partials, c, stop, stream);
    default: return launch_solve<32>(inverse, pieces, partials, c, stop, stream);
  }
}

template <class C>
void coarse_prolong(const detail::CoarseBasisArrays<C>& basis, const C* c, const C* in, C* z, CUstream_st* stream) {
  if (basis.rows == 0) return;
  const unsigned ctas = grid_for(basis.rows, coarse_threads, "coarse_prolong_kernel");
  coarse_prolong_kernel<<<ctas, coarse_threads, 0, stream>>>(basis, c, in, z);
  check_launch("coarse_prolong_kernel");
}

template <class C>
void coarse_subtract_product(const CsrView<C, std::int32_t>& a, const C* c, const C* in, C* out, CUstream_st* stream) {
  if (a.rows == 0) return;
  const unsigned ctas = grid_for(a.rows, coarse_threads, "coarse_subtract_product_kernel");
  coarse_subtract_product_kernel<<<ctas, coarse_threads, 0, stream>>>(a, c, in, out);
  check_launch("coarse_subtract_product_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C, S)                                                                                 \
  template void coarse_restrict(const CsrView<C, std::int32_t>&, const C*, const CsrView<C, std::int32_t>&, const C*, \
                                index_t, C*, const int*, CUstream_st*);                                               \
  template void coarse_solve(const detail::CoarseInverseArrays<C, S>&, index_t, const C*, C*, const int*,             \
                             CUstream_st*);                                                                           \
  template void coarse_prolong(const detail::CoarseBasisArrays<C>&, const C*, const C*, C*, CUstream_st*);            \
  template void coarse_subtract_product(const CsrView<C, std::int32_t>&, const C*, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float, float);
BLOCKJACOBI_INSTANTIATE(double, float);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>, detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>, detail::Complex<float>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
