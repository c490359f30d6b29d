#include "kernels/collectives/lanes.cuh"
#include "kernels/krylov/csr_rows.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/launch_products.hpp"
#include "kernels/krylov/policy.hpp"
#include "kernels/launch/check.hpp"
#include "kernels/launch/dependent.cuh"

#include <type_traits>

namespace blockjacobi::kernels {

namespace {

/// y = A x, or y = b - A x with products and sums in double, `width` lanes a row, for any number of entries.
template <bool subtracts, int width, class C, class O>
__global__ void __launch_bounds__(csr_any_policy.threads)
    csr_product_kernel(const CsrView<C, O> matrix, const C* b, const C* x, C* y) {
  using S = std::conditional_t<subtracts, detail::accumulator_t<C>, C>;
  constexpr int rows_at_once = csr_any_policy.threads / width;
  const auto lanes = Lanes<width>::current();
  const int base = static_cast<int>(matrix.base);
  const offset_t stride = static_cast<offset_t>(gridDim.x) * rows_at_once;
  offset_t row = static_cast<offset_t>(blockIdx.x) * rows_at_once + static_cast<int>(threadIdx.x) / width;
  for (; row < matrix.rows; row += stride) {  // whole groups leave
    const offset_t end = static_cast<offset_t>(matrix.row_offsets[row + 1]) - base;
    S sum{};
#pragma unroll 4
    for (offset_t k = static_cast<offset_t>(matrix.row_offsets[row]) - base + lanes.rank; k < end; k += width)
      sum += detail::convert<S>(matrix.values[k]) * detail::convert<S>(x[matrix.columns[k] - base]);
    __syncwarp(lanes.mask);
#pragma unroll
    for (int half = width / 2; half > 0; half /= 2) sum += lanes.broadcast(sum, lanes.rank ^ half);
    if (lanes.rank != 0) continue;
    if constexpr (subtracts) sum = detail::widen(b[row]) - sum;
    y[row] = detail::convert<C>(sum);
  }
}

template <bool subtracts, int width, class C, class O>
void launch_csr_product(const CsrView<C, O>& matrix, const C* b, const C* x, C* y, CUstream_st* stream) {
  constexpr int rows_at_once = csr_any_policy.threads / width;
  const offset_t wanted = (static_cast<offset_t>(matrix.rows) + rows_at_once - 1) / rows_at_once;
  csr_product_kernel<subtracts, width>
      <<<persistent_ctas(csr_any_policy, wanted), csr_any_policy.threads, 0, stream>>>(matrix, b, x, y);
  check_launch("csr_product_kernel");
}

template <class Shape, class C>
__global__ void __launch_bounds__(csr_policy.threads, csr_policy.per_multiprocessor)
    csr_rows_product_kernel(const CsrRows<C> matrix, const C* b, C* y) {
  using Rows = RowProducts<Shape>;
  __shared__ typename Rows::template Scratch<C> scratch;
  await_previous();  // at once: the user's own kernel before may write the matrix and let this one begin
  Rows::run(
      matrix, scratch, [] { return true; },
      [&](offset_t i, C product) { y[i] = b != nullptr ? b[i] - product : product; });
}

/// y = A x, or y = b - A x.
template <class C>
void launch_csr_rows_product(const CsrView<C, std::int32_t>& matrix, const C* b, const C* x, C* y,
                             CUstream_st* stream) {
  if (matrix.rows == 0) return;
  with_csr_shape(matrix, [&](auto shape) {
    using Shape = decltype(shape);
    launch_dependent(csr_rows_product_kernel<Shape, C>, "csr_rows_product_kernel",
                     {csr_ctas<Shape>(matrix.rows), csr_policy.threads}, stream, rows_of(matrix, x), b, y);
  });
}

__global__ void __launch_bounds__(csr_threads) longest_row_kernel(index_t rows, const int* offsets, int* longest) {
  const offset_t row = static_cast<offset_t>(blockIdx.x) * csr_threads + threadIdx.x;
  const int length = row < rows ? offsets[row + 1] - offsets[row] : 0;
  const int in_warp = __reduce_max_sync(~0u, length);
  // A longest row that is out of date costs an atomic too many.
  if (threadIdx.x % 32 == 0 && in_warp > *static_cast<volatile int*>(longest)) atomicMax(longest, in_warp);
}

__global__ void __launch_bounds__(csr_threads)
    narrow_offsets_kernel(const std::int64_t* source, offset_t count, std::int32_t* destination) {
  const offset_t i = static_cast<offset_t>(blockIdx.x) * csr_threads + threadIdx.x;
  if (i < count) destination[i] = static_cast<std::int32_t>(source[i]);
}

}  // namespace

template <class C, Offset O>
void csr_product(const CsrView<C, O>& matrix, const C* x, C* y, CUstream_st* stream) {
  if (matrix.rows == 0) return;
  launch_csr_product<false, csr_any_lanes>(matrix, static_cast<const C*>(nullptr), x, y, stream);
}

template <class C, Offset O>
void csr_residual(const CsrView<C, O>& matrix, CsrProductDesign design, const C* b, const C* x, C* r,
                  CUstream_st* stream) {
  if (matrix.rows == 0) return;
  if (design == CsrProductDesign::streamed)
    launch_csr_product<true, csr_short_lanes>(matrix, b, x, r, stream);
  else
    launch_csr_product<true, 32>(matrix, b, x, r, stream);
}

template <class C>
void csr_rows_product(const CsrView<C, std::int32_t>& matrix, const C* x, C* y, CUstream_st* stream) {
  launch_csr_rows_product(matrix, static_cast<const C*>(nullptr), x, y, stream);
}

template <class C>
void csr_rows_residual(const CsrView<C, std::int32_t>& matrix, const C* b, const C* x, C* r, CUstream_st* stream) {
  launch_csr_rows_product(matrix, b, x, r, stream);
}

void longest_row(const CsrView<const void, std::int32_t>& pattern, int* longest, CUstream_st* stream) {
  if (pattern.rows == 0) return;
  const auto ctas = static_cast<unsigned>((static_cast<offset_t>(pattern.rows) + csr_threads - 1) / csr_threads);
  longest_row_kernel<<<ctas, csr_threads, 0, stream>>>(pattern.rows, pattern.row_offsets, longest);
  check_launch("longest_row_kernel");
}

void narrow_offsets(const std::int64_t* source, offset_t count, std::int32_t* destination, CUstream_st* stream) {
  if (count == 0) return;
  const auto ctas = static_cast<unsigned>((count + csr_threads - 1) / csr_threads);
  narrow_offsets_kernel<<<ctas, csr_threads, 0, stream>>>(source, count, destination);
  check_launch("narrow_offsets_kernel");
}

#define BLOCKJACOBI_INSTANTIATE(C)                                                             \
  template void csr_rows_product(const CsrView<C, std::int32_t>&, const C*, C*, CUstream_st*); \
  template void csr_product(const CsrView<C, std::int32_t>&, const C*, C*, CUstream_st*);      \
  template void csr_product(const CsrView<C, std::int64_t>&, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

#define BLOCKJACOBI_INSTANTIATE(C) \
  template void csr_rows_residual(const CsrView<C, std::int32_t>&, const C*, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(detail::Complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

#define BLOCKJACOBI_INSTANTIATE(C)                                                                                     \
  template void csr_residual(const CsrView<C, std::int32_t>&, CsrProductDesign, const C*, const C*, C*, CUstream_st*); \
  template void csr_residual(const CsrView<C, std::int64_t>&, CsrProductDesign, const C*, const C*, C*, CUstream_st*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(detail::Complex<float>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::kernels
