#include "kernels/coarse/launch.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/collectives/cta_reduce.cuh"
#include "kernels/launch/grid.hpp"

namespace blockjacobi::kernels {

namespace {

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_scale_kernel(const CsrView<C, std::int32_t> e, detail::arithmetic_real_t<C>* scale) {
  using R = detail::arithmetic_real_t<C>;
  const offset_t i = static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x;
  if (i >= e.rows) return;
  R diagonal = 0;
  for (int k = e.row_offsets[i]; k < e.row_offsets[i + 1]; ++k)
    if (e.columns[k] == i) diagonal = detail::modulus(e.values[k]);
  scale[i] = diagonal > 0 && detail::finite(diagonal) ? R(1) / sqrt(diagonal) : R(1);
}

/// A warp a row; the array is zero.
template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_scatter_kernel(const CsrView<C, std::int32_t> e, detail::arithmetic_real_t<C> shift,
                          const detail::arithmetic_real_t<C>* scale, C* dense) {
  const offset_t i = (static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x) / 32;
  if (i >= e.rows) return;
  const int end = e.row_offsets[i + 1];
  for (int k = e.row_offsets[i] + static_cast<int>(threadIdx.x) % 32; k < end; k += 32) {
    const index_t j = e.columns[k];
    C value = (scale[i] * scale[j]) * e.values[k];
    if (j == i) value += detail::from_real<C>(shift);
    dense[static_cast<offset_t>(j) * e.rows + i] = value;
  }
}

template <class C>
__global__ void __launch_bounds__(coarse_threads)
    coarse_column_sums_kernel(index_t order, const C* dense, detail::arithmetic_real_t<C>* sums) {
  using R = detail::arithmetic_real_t<C>;
  __shared__ ReduceScratch<1, R> scratch;
  const C* const column = dense + static_cast<offset_t>(blockIdx.x) * order;
  R sum = 0;
  for (index_t i = static_cast<index_t>(threadIdx.x); i < order; i += coarse_threads) sum += detail::modulus(column[i]);
  sum = cta_reduce(sum, scratch, [](R a, R b) { return a + b; });
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <class C>
__global__ void __launch_bounds__(coarse_threads) coarse_identity_kernel(index_t order, C* dense) {
  const offset_t i = static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x;
  if (i >= order) return;
  dense[i * (static_cast<offset_t>(order) + 1)] = detail::from_real<C>(1);
}

/// One thread block.
template <class R>
__global__ void __launch_bounds__(coarse_threads)
    coarse_outcome_kernel(index_t order, const R* sums, const R* inverse_sums, int* info, double* rcond,
                          double smallest, int* is_single) {
  __shared__ ReduceScratch<2, R> scratch;
  R norms[2] = {};
  bool finite[2] = {true, true};
  for (index_t j = static_cast<index_t>(threadIdx.x); j < order; j += coarse_threads) {
    finite[0] = finite[0] && detail::finite(sums[j]);
    finite[1] = finite[1] && detail::finite(inverse_sums[j]);
    norms[0] = norms[0] > sums[j] ? norms[0] : sums[j];
    norms[1] = norms[1] > inverse_sums[j] ? norms[1] : inverse_sums[j];
  }
  const bool is_finite = __syncthreads_and(finite[0]) != 0, inverse_is_finite = __syncthreads_and(finite[1]) != 0;
  cta_reduce(norms, scratch, [](R a, R b) { return a > b ? a : b; });
  if (threadIdx.x != 0) return;
  // why: what a factorization makes of NaN may look like a pivot that is zero
  if (!is_finite || (*info == 0 && !inverse_is_finite)) *info = -1;
  *rcond = *info == 0 ? 1.0 / (static_cast<double>(norms[0]) * static_cast<double>(norms[1])) : 0.0;
  *is_single = *rcond >= smallest ? 1 : 0;
}

template <class C, class S>
__global__ void __launch_bounds__(coarse_threads)
    coarse_finish_kernel(offset_t elements, C* inverse, const int* info, const int* is_single, S* single) {
  const offset_t i = static_cast<offset_t>(blockIdx.x) * coarse_threads + threadIdx.x;
  if (i >= elements) return;
  if (*info != 0)
    inverse[i] = C{};
  else if (*is_single != 0)
    single[i] = detail::convert<S>(inverse[i]);
}

}  // namespace

template <class C>
void coarse_equilibrate(const CsrView<C, std::int32_t>& e, detail::arithmetic_real_t<C> shift,
                        detail::arithmetic_real_t<C>* scale, C* dense, CUstream_st* stream) {
  const offset_t elements = offset_t{e.rows} * e.rows;
  check(cudaMemsetAsync(dense, 0, static_cast<std::size_t>(elements) * sizeof(C), stream), "cudaMemsetAsync");
  coarse_scale_kernel<<<grid_for(e.rows, coarse_threads, "coarse_scale_kernel"), coarse_threads, 0, stream>>>(e, scale);
  check_launch("coarse_scale_kernel");
  coarse_scatter_kernel<<<grid_for(e.rows, coarse_threads / 32, "coarse_scatter_kernel"), coarse_threads, 0, stream>>>(
      e, shift, scale, dense);
  check_launch("coarse_scatter_kernel");
}

template <class C>
void coarse_column_sums(index_t order, const C* dense, detail::arithmetic_real_t<C>* sums, CUstream_st* stream) {
  coarse_column_sums_kernel<<<static_cast<unsigned>(order), coarse_threads, 0, stream>>>(order, dense, sums);
  check_launch("coarse_column_sums_kernel");
}

template <class C>
void coarse_identity(index_t order, C* dense, CUstream_st* stream) {
  const offset_t elements = offset_t{order} * order;
  check(cudaMemsetAsync(dense, 0, static_cast<std::size_t>(elements) * sizeof(C), stream), "cudaMemsetAsync");
  coarse_identity_kernel<<<grid_for(order, coarse_threads, "coarse_identity_kernel"), coarse_threads, 0, stream>>>(
      order, dense);
  check_launch("coarse_identity_kernel");
}

template <class R>
void coarse_outcome(index_t order, const R* sums, const R* inverse_sums, int* info, double* rcond, double smallest,
                    int* is_single, CUstream_st* stream) {
  coarse_outcome_kernel<<<1, coarse_threads, 0, stream>>>(order, sums, inverse_sums, info, rcond, smallest, is_single);
  check_launch("coarse_outcome_kernel");
}

template <class C, class S>
void coarse_finish(index_t order, C* inverse, const int* info, const int* is_single, S* single, CUstream_st* stream) {
  const offset_t elements = offset_t{order} * order;
  coarse_finish_kernel<<<grid_for(elements, coarse_threads, "coarse_finish_kernel"), coarse_threads, 0, stream>>>(
      elements, inverse, info, is_single, single);
  check_launch("coarse_finish_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C, S)                                                               \
  template void coarse_equilibrate(const CsrView<C, std::int32_t>&, detail::arithmetic_real_t<C>,   \
                                   detail::arithmetic_real_t<C>*, C*, CUstream_st*);                \
  template void coarse_column_sums(index_t, const C*, detail::arithmetic_real_t<C>*, CUstream_st*); \
  template void coarse_identity(index_t, C*, CUstream_st*);                                         \
  template void coarse_finish(index_t, C*, const int*, const int*, S*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float, float);
BLOCKJACOBI_INSTANTIATE(double, float);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>, detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>, detail::Complex<float>);
#undef BLOCKJACOBI_INSTANTIATE
template void coarse_outcome(index_t, const float*, const float*, int*, double*, double, int*, CUstream_st*);
template void coarse_outcome(index_t, const double*, const double*, int*, double*, double, int*, CUstream_st*);

}  // namespace blockjacobi::kernels
