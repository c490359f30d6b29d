#pragma once

#include "kernels/block/global_lu.cuh"
#include "kernels/block/shared_lu.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

/// One matrix a thread block, by SharedLu or GlobalLu.
template <class Lu, class C, int Threads, int Blocks>
__global__ void __launch_bounds__(Threads, Blocks)
    getrf_blocked_kernel(const MatrixBatchView<C> a, index_t* ipiv, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const Lu lu(shared, n);
  lu.run(matrix);
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    ipiv[k * a.rows + i] = lu.lu.pivots[i] + 1;
  if (threadIdx.x == 0) info[k] = *lu.lu.info;
}

template <class Lu, int Threads, int Blocks, class C>
void launch_getrf(int warps, const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  launch_blocked(getrf_blocked_kernel<Lu, C, Threads, Blocks>, "getrf_blocked", 32 * warps, a.count, Lu::bytes(a.rows),
                 stream, a, ipiv, info);
}

/// By the least number R of rows a thread from 2 on that the first warp's threads need.
template <int R, class C>
void getrf_shared(int warps, const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  if constexpr (R < lu_rows(scalar_words<C>))
    if (a.rows > 32 * R) return getrf_shared<R + 1>(warps, a, ipiv, info, stream);
  launch_getrf < SharedLu<C, R>, 32 * most_shared_lu_warps, R<4 ? 4 : 3>(warps, a, ipiv, info, stream);
}

/// With the least number of threads that a kernel is compiled for.
template <int Warps, class C>
void getrf_global(int warps, const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  if constexpr (Warps < most_global_lu_warps)
    if (warps > Warps) return getrf_global<2 * Warps>(warps, a, ipiv, info, stream);
  launch_getrf<GlobalLu<C, lu_rows(scalar_words<C>)>, 32 * Warps, 16 / Warps>(warps, a, ipiv, info, stream);
}

template <class C>
void getrf_by_shape(LuShape shape, const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  if (shape.shared)
    getrf_shared<2>(shape.warps, a, ipiv, info, stream);
  else
    getrf_global<least_global_lu_warps>(shape.warps, a, ipiv, info, stream);
}

template <class C>
void getrf_blocked(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  getrf_by_shape(lu_shape(scalar_words<C>, a.rows), a, ipiv, info, stream);
}

}  // namespace blockjacobi::kernels
