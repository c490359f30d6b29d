#pragma once

#include "kernels/cholesky/cta_inverse.cuh"
#include "kernels/cholesky/cta_inverse_plain.cuh"
#include "kernels/cholesky/policy.hpp"
#include "kernels/launch/cta.cuh"

#include <climits>

namespace blockjacobi::kernels {

/// Where an inverse goes: to the triangle that the factor is in, to both triangles, or packed.
enum class SpdPlace { triangle, full, packed };

template <class C, bool upper>
struct SpdResult {
  detail::MatrixRef<C> x;
  SpdPlace place;

  /// Element (i, j) of the lower triangle, or its conjugate that of an upper one.
  __device__ void operator()(int i, int j, C value) const {
    const int row = upper ? j : i, column = upper ? i : j;
    if (place == SpdPlace::packed) {
      x.data[upper ? row + column * (column + 1) / 2 : row + column * (2 * x.rows - column - 1) / 2] = value;
      return;
    }
    x(row, column) = value;
    if (place == SpdPlace::full && row != column) x(column, row) = detail::conj(value);
  }

  __device__ void fill(C value) const {
    for (int j = static_cast<int>(threadIdx.x) / 32; j < x.rows; j += static_cast<int>(blockDim.x) / 32)
      for (int i = j + static_cast<int>(threadIdx.x) % 32; i < x.rows; i += 32) (*this)(i, j, value);
  }
};

/// One matrix a thread block, orders above `above`. If the result is not in the place of the factor, info has the
/// outcome of the factorization.
template <class C, int T, bool upper>
__global__ void __launch_bounds__(32 * most_cholesky_inverse_warps, 1)
    potri_cta_kernel(const MatrixBatchView<C> factors, const MatrixBatchView<C> x, const SpdPlace place,
                     const int above, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto factor = detail::matrix_of(factors, k);
  const int n = factor.rows;
  if (n <= above) return;
  const SpdResult<C, upper> result{detail::matrix_of(x, k, n, n), place};
  if (place != SpdPlace::triangle && info[k] != 0) return result.fill(quiet_nan<C>());
  const auto outcome = CtaPotri<C, T, upper>(factor, shared).run(result);
  if (!outcome.regular) result.fill(quiet_nan<C>());
  if (threadIdx.x == 0 && (place == SpdPlace::triangle || outcome.info != 0)) info[k] = outcome.info;
}

template <class C>
__global__ void __launch_bounds__(copy_triangle_threads)
    copy_triangle_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, const bool upper,
                         const int above) {
  const auto from = detail::matrix_of(a, blockIdx.x);
  const int n = from.rows;
  if (n <= above) return;
  const auto to = detail::matrix_of(x, blockIdx.x, n, n);
  for (int j = static_cast<int>(threadIdx.x) / 32; j < n; j += copy_triangle_threads / 32)
    for (int i = (upper ? 0 : j) + static_cast<int>(threadIdx.x) % 32; i < (upper ? j + 1 : n); i += 32)
      to(i, j) = from(i, j);
}

/// The same where shared memory has no room for the panels of potri_cta_kernel().
template <class C, bool upper>
__global__ void __launch_bounds__(plain_cholesky_threads)
    potri_cta_plain_kernel(const MatrixBatchView<C> factors, const MatrixBatchView<C> x, const SpdPlace place,
                           const int above, int* info) {
  __shared__ alignas(16) unsigned char row[largest_order * sizeof(C)];
  __shared__ int zero;
  const offset_t k = blockIdx.x;
  const auto factor = detail::matrix_of(factors, k);
  const int n = factor.rows, thread = static_cast<int>(threadIdx.x);
  if (n <= above) return;
  const SpdResult<C, upper> result{detail::matrix_of(x, k, n, n), place};
  if (place != SpdPlace::triangle && info[k] != 0) return result.fill(quiet_nan<C>());
  if (thread == 0) zero = INT_MAX;
  __syncthreads();
  bool finite = true;
  for (int j = thread / 32; j < n; j += plain_cholesky_threads / 32)
    for (int i = (upper ? 0 : j) + thread % 32; i < (upper ? j + 1 : n); i += 32) {
      finite = detail::finite(factor(i, j)) && finite;
      if (i == j && detail::real_part(factor(i, j)) == 0) atomicMin(&zero, i + 1);
    }
  const bool all_finite = __syncthreads_and(finite) != 0;
  const int first_zero = zero == INT_MAX ? 0 : zero;
  if (all_finite && first_zero == 0)
    plain_inverse_from_cholesky<upper>(factor, reinterpret_cast<C*>(row), result);
  else
    result.fill(quiet_nan<C>());
  if (thread == 0 && (place == SpdPlace::triangle || first_zero != 0)) info[k] = first_zero;
}

}  // namespace blockjacobi::kernels
