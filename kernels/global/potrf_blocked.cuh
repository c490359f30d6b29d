#pragma once

#include "kernels/block/block_cholesky.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

/// One matrix a thread block.
template <class C, int tiles, bool upper>
__global__ void __launch_bounds__(32 * cholesky_warps,
                                  cholesky_blocks(scalar_words<C>, detail::Arithmetic<C>::is_complex, tiles))
    potrf_blocked_kernel(const MatrixBatchView<C> a, int* info) {
  using Factorization = BlockCholesky<C, tiles, upper>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (matrix.rows <= largest_tiny_order) return;
  const int outcome = Factorization(matrix, *reinterpret_cast<typename Factorization::Diagonal*>(shared)).run();
  if (threadIdx.x == 0) info[k] = outcome;
}

template <class C, int tiles>
void potrf_blocked(bool upper, int warps, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  launch_blocked(upper ? potrf_blocked_kernel<C, tiles, true> : potrf_blocked_kernel<C, tiles, false>, "potrf_blocked",
                 32 * warps, a.count, sizeof(typename BlockCholesky<C, tiles, false>::Diagonal), stream, a, info);
}

template <class C>
void potrf_blocked(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  constexpr bool complex = detail::Arithmetic<C>::is_complex;
  const bool upper = triangle == batched::Triangle::upper;
  const CholeskyPolicy policy = cholesky_policy(scalar_words<C>, complex, a.rows);
  if constexpr (!complex)
    if (policy.tiles == 4) return potrf_blocked<C, 4>(upper, policy.warps, a, info, stream);
  potrf_blocked<C, 2>(upper, policy.warps, a, info, stream);
}

}  // namespace blockjacobi::kernels
