#include "kernels/collectives/lanes.cuh"
#include "kernels/krylov/csr_rows.cuh"
#include "kernels/krylov/launch_ctas.cuh"
#include "kernels/krylov/launch_products.hpp"
#include "kernels/krylov/policy.hpp"
#include "kernels/launch/check.hpp"
#include "kernels/launch/dependent.cuh"

namespace blockjacobi::kernels {

namespace {

constexpr int csr_lanes = 16;

/// y = A x, csr_lanes lanes a row, for any number of entries.
template <class C, class O>
__global__ void __launch_bounds__(csr_threads)
    csr_product_kernel(index_t rows, const O* row_offsets, const index_t* columns, const C* values, int base,
                       const C* x, C* y) {
  const offset_t row =
      static_cast<offset_t>(blockIdx.x) * (csr_threads / csr_lanes) + static_cast<int>(threadIdx.x) / csr_lanes;
  if (row >= rows) return;  // whole groups leave
  const auto lanes = Lanes<csr_lanes>::current();
  const offset_t end = static_cast<offset_t>(row_offsets[row + 1]) - base;
  C sum{};
  for (offset_t k = static_cast<offset_t>(row_offsets[row]) - base + lanes.rank; k < end; k += csr_lanes)
    sum += values[k] * x[columns[k] - base];
#pragma unroll
  for (int half = csr_lanes / 2; half > 0; half /= 2) sum += lanes.broadcast(sum, lanes.rank ^ half);
  if (lanes.rank == 0) y[row] = sum;
}

template <class Shape, class C>
__global__ void __launch_bounds__(csr_policy.threads, csr_policy.per_multiprocessor)
    csr_rows_product_kernel(const CsrRows<C> matrix, C* y) {
  using Rows = RowProducts<Shape>;
  __shared__ typename Rows::template Scratch<C> scratch;
  await_previous();  // at once: the user's own kernel before may write the matrix and let this one begin
  Rows::run(
      matrix, scratch, [] { return true; }, [&](offset_t i, C product) { y[i] = product; });
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
  constexpr int rows_per_cta = csr_threads / csr_lanes;
  const auto ctas = static_cast<unsigned>((static_cast<offset_t>(matrix.rows) + rows_per_cta - 1) / rows_per_cta);
  csr_product_kernel<<<ctas, csr_threads, 0, stream>>>(matrix.rows, matrix.row_offsets, matrix.columns, matrix.values,
                                                       static_cast<int>(matrix.base), x, y);
  check_launch("csr_product_kernel");
}

template <class C>
void csr_rows_product(const CsrView<C, std::int32_t>& matrix, const C* x, C* y, CUstream_st* stream) {
  if (matrix.rows == 0) return;
  with_csr_shape(matrix, [&](auto shape) {
    using Shape = decltype(shape);
    launch_dependent(csr_rows_product_kernel<Shape, C>, "csr_rows_product_kernel",
                     {csr_ctas<Shape>(matrix.rows), csr_policy.threads}, stream, rows_of(matrix, x), y);
  });
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

}  // namespace blockjacobi::kernels
