#pragma once

#include "kernels/inverse/cta_from_lu.cuh"
#include "kernels/inverse/cta_from_lu_plain.cuh"
#include "kernels/inverse/fill_matrix.cuh"
#include "kernels/inverse/permute_columns.cuh"
#include "kernels/launch/cta.cuh"
#include "kernels/lu/interchanged_rows.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// Shared memory of the inversion from the factors, before what CtaLuInverse has.
struct GetriLayout {
  int* column;      ///< n and up to 3 more: getrf's interchanges, then of x, for each of U
  int* source_row;  ///< n: which row of A is at each position
  int* zero;        ///< first zero of the diagonal of U (1-based), or INT_MAX
  int* non_finite;
  unsigned char* scratch;

  __host__ __device__ static constexpr std::size_t bytes(int n) {
    return aligned_bytes(static_cast<std::size_t>(2 * n + 5) * sizeof(int));
  }
  __device__ GetriLayout(unsigned char* shared, int n)
      : column(reinterpret_cast<int*>(shared)),
        source_row(column + n + 3),
        zero(source_row + n),
        non_finite(zero + 1),
        scratch(shared + bytes(n)) {}
};

/// The inverse from the factors of getrf, one matrix a thread block with a thread for each row; looks for what has no
/// inverse first.
template <class C, int W, int Threads, int Ctas>
__global__ void __launch_bounds__(Threads, Ctas)
    getri_cta_kernel(const MatrixBatchView<const C> lu, const index_t* ipiv, const MatrixBatchView<C> x,
                     const int stages, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto factors = detail::matrix_of(lu, k);
  const int n = factors.rows, thread = static_cast<int>(threadIdx.x);
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  const GetriLayout memory(shared, n);
  if (thread < (n + 3) / 4 * 4) memory.column[thread] = thread < n ? ipiv[k * lu.rows + thread] : thread + 1;
  if (thread == 0) {
    *memory.zero = INT_MAX;
    *memory.non_finite = 0;
  }
  __syncthreads();
  if (thread < n && detail::is_zero(factors(thread, thread))) atomicMin(memory.zero, thread + 1);
  bool finite = true;
  for (int j = thread / 32; j < n; j += static_cast<int>(blockDim.x) / 32)
#pragma unroll 4
    for (int i = thread % 32; i < n; i += 32) {
      const C value = factors(i, j);  // not only while all are finite, so that loads overlap
      finite = detail::finite(value) && finite;
    }
  if (!finite) atomicOr(memory.non_finite, 1);
  if (thread < n) memory.source_row[place_after_interchanges(memory.column, n, thread)] = thread;
  __syncthreads();
  const int zero = *memory.zero;
  if (thread == 0) info[k] = zero == INT_MAX ? 0 : zero;
  if (zero != INT_MAX || *memory.non_finite != 0) return fill_matrix(inverse, quiet_nan<C>());

  const bool in_place = factors.data == inverse.data;
  if (thread < n) memory.column[thread] = in_place ? thread : memory.source_row[thread];
  __syncthreads();
  const CtaLuInverse<C, W> from_lu(factors, inverse, memory.column, memory.scratch, stages);
  from_lu.run();
  if (in_place)
    permute_columns(
        inverse, [&](int j) { return memory.source_row[j]; }, reinterpret_cast<C*>(memory.scratch),
        from_lu.staged_elements(n) * static_cast<int>(sizeof(double) / sizeof(float)) / words_of<C>);
}

/// The same where shared memory has no room for the panels of CtaLuInverse.
template <class C>
__global__ void __launch_bounds__(plain_inverse_threads)
    getri_cta_plain_kernel(const MatrixBatchView<const C> lu, const index_t* ipiv, const MatrixBatchView<C> x,
                           int* info) {
  __shared__ alignas(16) unsigned char column[largest_order * sizeof(C)];
  __shared__ int zero;
  const offset_t k = blockIdx.x;
  const auto factors = detail::matrix_of(lu, k);
  const int n = factors.rows, thread = static_cast<int>(threadIdx.x);
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  if (thread == 0) zero = INT_MAX;
  __syncthreads();
  bool finite = true;
  for (int j = thread / 32; j < n; j += plain_inverse_threads / 32)
    for (int i = thread % 32; i < n; i += 32) {
      const C value = factors(i, j);
      finite = detail::finite(value) && finite;
      if (i == j && detail::is_zero(value)) atomicMin(&zero, i + 1);
      inverse(i, j) = value;
    }
  const bool all_finite = __syncthreads_and(finite) != 0;
  if (thread == 0) info[k] = zero == INT_MAX ? 0 : zero;
  if (!all_finite || zero != INT_MAX) return fill_matrix(inverse, quiet_nan<C>());
  plain_inverse_from_lu(inverse, ipiv + k * lu.rows, reinterpret_cast<C*>(column));
}

}  // namespace blockjacobi::kernels
