#pragma once

#include "kernels/launch/cta.cuh"
#include "kernels/lu/cta_left.cuh"
#include "kernels/lu/cta_plain.cuh"
#include "kernels/lu/cta_shared.cuh"
#include "kernels/lu/policy.hpp"

namespace blockjacobi::kernels {

/// One matrix a thread block, by SharedLu.
template <class C, int R, int Ctas>
__global__ void __launch_bounds__(32 * most_shared_lu_warps, Ctas)
    getrf_cta_shared_kernel(const MatrixBatchView<C> a, index_t* ipiv, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const SharedLu<C, R> lu(shared, n);
  lu.run(matrix);
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    ipiv[k * a.rows + i] = lu.lu.pivots[i] + 1;
  if (threadIdx.x == 0) info[k] = *lu.lu.info;
}

/// One matrix a thread block, by LeftLu; the threads bound the registers.
template <class C, bool ahead, int Threads>
__global__ void __launch_bounds__(Threads) getrf_cta_left_kernel(const MatrixBatchView<C> a, index_t* ipiv, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order || static_cast<int>(threadIdx.x) >= threads_for_rows(n)) return;
  const LeftLu<C, ahead> lu{shared, n};
  const int singular = lu.run(matrix, ipiv + k * a.rows);
  if (threadIdx.x == 0) info[k] = singular;
}

/// One matrix a thread block, by plain_lu(): where shared memory has no room for the panels of LeftLu.
template <class C>
__global__ void __launch_bounds__(plain_lu_threads)
    getrf_cta_plain_kernel(const MatrixBatchView<C> a, index_t* ipiv, int* info) {
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (matrix.rows <= largest_tiny_order) return;
  const int singular = plain_lu(matrix, ipiv + k * a.rows);
  if (threadIdx.x == 0) info[k] = singular;
}

}  // namespace blockjacobi::kernels
