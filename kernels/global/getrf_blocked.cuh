#pragma once

#include "kernels/block/left_lu.cuh"
#include "kernels/block/shared_lu.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

/// One matrix a thread block, by SharedLu.
template <class C, int R, int Blocks>
__global__ void __launch_bounds__(32 * most_shared_lu_warps, Blocks)
    getrf_shared_kernel(const MatrixBatchView<C> a, index_t* ipiv, int* info) {
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

/// By the least number R of rows a thread from 2 on that the first warp's threads need.
template <int R, class C>
void getrf_shared(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  if constexpr (R < lu_rows(scalar_words<C>))
    if (a.rows > 32 * R) return getrf_shared<R + 1>(a, ipiv, info, stream);
  launch_blocked(getrf_shared_kernel<C, R, 4>, "getrf_blocked", 32 * shared_lu_warps(a.rows), a.count,
                 SharedLu<C, R>::bytes(a.rows), stream, a, ipiv, info);
}

/// One matrix a thread block, by LeftLu; the threads bound the registers.
template <class C, bool far, int Threads>
__global__ void __launch_bounds__(Threads) getrf_left_kernel(const MatrixBatchView<C> a, index_t* ipiv, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order || static_cast<int>(threadIdx.x) >= threads_for_rows(n)) return;
  const LeftLu<C, far> lu{shared, n};
  const int singular = lu.run(matrix, ipiv + k * a.rows);
  if (threadIdx.x == 0) info[k] = singular;
}

template <class C, bool far>
void getrf_left(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  static_assert(LeftLu<C, far>::bytes(far ? largest_blocked_order : largest_near_lu_order) <= largest_shared_bytes);
  auto* kernel = getrf_left_kernel<C, far, lu_threads(detail::Arithmetic<C>::is_complex, far)>;
  if constexpr (std::is_same_v<C, double>)
    if (is_roomy_lu(a.rows)) kernel = getrf_left_kernel<C, far, roomy_lu_threads>;
  launch_blocked(kernel, "getrf_blocked", a.rows, a.count, LeftLu<C, far>::bytes(a.rows), stream, a, ipiv, info);
}

template <class C>
void getrf_blocked(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  if (a.rows <= largest_shared_lu_order(scalar_words<C>, detail::Arithmetic<C>::is_complex))
    getrf_shared<2>(a, ipiv, info, stream);
  else if (a.rows <= largest_near_lu_order)
    getrf_left<C, false>(a, ipiv, info, stream);
  else
    getrf_left<C, true>(a, ipiv, info, stream);
}

}  // namespace blockjacobi::kernels
