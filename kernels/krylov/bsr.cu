#include "core/shared/bsr_pattern.hpp"
#include "kernels/krylov/launch_products.hpp"
#include "kernels/krylov/policy.hpp"
#include "kernels/launch/check.hpp"

#include <type_traits>

namespace blockjacobi::kernels {

namespace {

/// y = A x, or y = b - A x with products and sums in double, a warp a block row. The columns of its blocks stand one
/// behind the other, `block` elements each: lane l has element l % block of every (32 / block)-th of them, so that the
/// warp reads its elements in order.
template <bool subtracts, class C>
__global__ void __launch_bounds__(bsr_threads)
    bsr_product_kernel(const detail::BsrView<C> matrix, const C* b, const C* x, C* y) {
  using S = std::conditional_t<subtracts, detail::accumulator_t<C>, C>;
  constexpr int warps = bsr_threads / 32;
  __shared__ S partial[warps][32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const offset_t row = static_cast<offset_t>(blockIdx.x) * warps + warp;
  if (row >= matrix.block_rows) return;  // whole warps leave

  const int block = matrix.block;
  const int groups = 32 / block;
  const int own = lane % block, group = lane / block;
  const offset_t first = matrix.row_offsets[row];
  const int columns = static_cast<int>(matrix.row_offsets[row + 1] - first) * block;
  const C* elements = matrix.elements + first * block * block;
  S sum{};
  if (group < groups)
    for (int k = group; k < columns; k += groups) {
      const int in_row = k / block;
      const offset_t j = static_cast<offset_t>(matrix.columns[first + in_row]) * block + (k - in_row * block);
      sum += detail::convert<S>(elements[static_cast<offset_t>(k) * block + own]) * detail::convert<S>(x[j]);
    }
  partial[warp][lane] = sum;
  __syncwarp();
  if (lane >= block) return;
  for (int g = 1; g < groups; ++g) sum += partial[warp][lane + g * block];
  const offset_t i = row * block + lane;
  if constexpr (subtracts) sum = detail::widen(b[i]) - sum;
  y[i] = detail::convert<C>(sum);
}

template <class C>
__global__ void __launch_bounds__(bsr_threads)
    bsr_fill_kernel(const detail::BsrSources sources, const C* values, C* elements) {
  const offset_t e = static_cast<offset_t>(blockIdx.x) * bsr_threads + threadIdx.x;
  if (e >= sources.elements) return;
  C sum{};
  for (offset_t k = sources.first[e]; k >= 0; k = sources.next != nullptr ? sources.next[k] : -1) sum += values[k];
  elements[e] = sum;
}

template <bool subtracts, class C>
void launch_bsr_product(const detail::BsrView<C>& matrix, const C* b, const C* x, C* y, CUstream_st* stream) {
  if (matrix.block_rows == 0) return;
  constexpr int rows = bsr_threads / 32;
  const auto ctas = static_cast<unsigned>((static_cast<offset_t>(matrix.block_rows) + rows - 1) / rows);
  bsr_product_kernel<subtracts><<<ctas, bsr_threads, 0, stream>>>(matrix, b, x, y);
  check_launch("bsr_product_kernel");
}

}  // namespace

template <class C>
void bsr_product(const detail::BsrView<C>& matrix, const C* x, C* y, CUstream_st* stream) {
  launch_bsr_product<false>(matrix, static_cast<const C*>(nullptr), x, y, stream);
}

template <class C>
void bsr_residual(const detail::BsrView<C>& matrix, const C* b, const C* x, C* r, CUstream_st* stream) {
  launch_bsr_product<true>(matrix, b, x, r, stream);
}

template <class C>
void bsr_fill(const detail::BsrSources& sources, const C* values, C* elements, CUstream_st* stream) {
  if (sources.elements == 0) return;
  const auto ctas = static_cast<unsigned>((sources.elements + bsr_threads - 1) / bsr_threads);
  bsr_fill_kernel<<<ctas, bsr_threads, 0, stream>>>(sources, values, elements);
  check_launch("bsr_fill_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                             \
  template void bsr_product(const detail::BsrView<C>&, const C*, C*, CUstream_st*);            \
  template void bsr_residual(const detail::BsrView<C>&, const C*, const C*, C*, CUstream_st*); \
  template void bsr_fill(const detail::BsrSources&, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
