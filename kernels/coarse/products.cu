#include "kernels/coarse/launch_patterns.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/collectives/lanes.cuh"
#include "kernels/launch/grid.hpp"

namespace blockjacobi::kernels {

namespace {

__device__ offset_t thread_index() { return static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x; }

/// A thread block has a coarse row.
template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_restriction_kernel(const CsrView<const C, std::int32_t> a, const detail::CoarseBasisArrays<C> z,
                              C* const values) {
  const auto c = static_cast<index_t>(blockIdx.x);
  for (int k = a.row_offsets[c] + static_cast<int>(threadIdx.x); k < a.row_offsets[c + 1]; k += coarse_threads) {
    const index_t i = a.columns[k];
    values[k] = detail::conj(z.value(i, c - z.first_column(z.group[i])));
  }
}

/// A thread an element; those of a segment stand together, since they read the same values of A.
template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_product_kernel(const detail::CoarseSums sums, const detail::CoarseBasisArrays<C> z, const C* const values,
                          C* const product) {
  const offset_t item = thread_index();
  const auto s = static_cast<index_t>(item / z.width), v = static_cast<index_t>(item % z.width);
  if (s >= sums.segments || v >= z.columns(sums.group[s])) return;
  product[place_in_product(sums, s, v)] = product_element(sums, z, s, v, values);
}

/// A warp an element.
template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_galerkin_kernel(const detail::CoarseSums sums, const detail::CoarseBasisArrays<C> z, const C* const product,
                           C* const e) {
  const offset_t item = thread_index() / 32;
  const offset_t of_pair = offset_t{z.width} * z.width;
  const auto p = static_cast<index_t>(item / of_pair);
  const auto v = static_cast<index_t>(item % of_pair / z.width), u = static_cast<index_t>(item % z.width);
  if (p >= sums.pairs) return;
  const index_t row = sums.pair_row[p];
  if (v >= z.columns(row) || u >= z.columns(sums.pair_column[p])) return;
  const auto lanes = Lanes<32>::current();
  C sum{};
  for (int q = sums.pair_begin[p] + lanes.rank; q < sums.pair_begin[p + 1]; q += 32)
    sum += galerkin_term(sums, z, sums.segment[q], v, u, product);
#pragma unroll
  for (int half = 16; half > 0; half /= 2) sum += lanes.broadcast(sum, lanes.rank ^ half);
  if (lanes.rank == 0) e[sums.pair_place[p] + offset_t{v} * sums.pair_stride[row] + u] = sum;
}

}  // namespace

template <class C>
void coarse_restriction(const CsrView<const C, std::int32_t>& restriction, const detail::CoarseBasisArrays<C>& z,
                        C* values, CUstream_st* stream) {
  if (restriction.rows == 0) return;
  coarse_restriction_kernel<<<static_cast<unsigned>(restriction.rows), coarse_threads, 0, stream>>>(restriction, z,
                                                                                                    values);
  check_launch("coarse_restriction_kernel");
}

template <class C>
void coarse_product(const detail::CoarseSums& sums, const detail::CoarseBasisArrays<C>& z, const C* values, C* product,
                    CUstream_st* stream) {
  if (sums.segments == 0) return;
  const unsigned ctas = grid_for(offset_t{sums.segments} * z.width, coarse_threads, "coarse_product_kernel");
  coarse_product_kernel<<<ctas, coarse_threads, 0, stream>>>(sums, z, values, product);
  check_launch("coarse_product_kernel");
}

template <class C>
void coarse_galerkin(const detail::CoarseSums& sums, const detail::CoarseBasisArrays<C>& z, const C* product, C* e,
                     CUstream_st* stream) {
  if (sums.pairs == 0) return;
  const offset_t elements = offset_t{sums.pairs} * z.width * z.width;
  const unsigned ctas = grid_for(elements, coarse_threads / 32, "coarse_galerkin_kernel");
  coarse_galerkin_kernel<<<ctas, coarse_threads, 0, stream>>>(sums, z, product, e);
  check_launch("coarse_galerkin_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                 \
  template void coarse_restriction(const CsrView<const C, std::int32_t>&, const detail::CoarseBasisArrays<C>&, C*, \
                                   CUstream_st*);                                                                  \
  template void coarse_product(const detail::CoarseSums&, const detail::CoarseBasisArrays<C>&, const C*, C*,       \
                               CUstream_st*);                                                                      \
  template void coarse_galerkin(const detail::CoarseSums&, const detail::CoarseBasisArrays<C>&, const C*, C*,      \
                                CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
