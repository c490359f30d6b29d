#pragma once

#include "kernels/inverse/cluster.cuh"
#include "kernels/inverse/fill_matrix.cuh"
#include "kernels/launch/cta.cuh"

namespace blockjacobi::kernels {

/// By Gauss-Jordan elimination, one matrix a cluster of thread blocks.
template <class C, int W>
__global__ void __launch_bounds__(largest_order, 1)
    inverse_cluster_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, int* info) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  extern __shared__ __align__(16) unsigned char shared[];
  const auto cluster = cooperative_groups::this_cluster();
  const offset_t k = blockIdx.x / cluster.num_blocks();
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  const auto outcome = ClusterGaussJordan<C, W>(shared, n).run(matrix, inverse);
  if (cluster.block_rank() != 0) return;
  if (!outcome.regular) fill_matrix(inverse, quiet_nan<C>());
  if (threadIdx.x == 0) info[k] = outcome.info;
#endif
}

}  // namespace blockjacobi::kernels
