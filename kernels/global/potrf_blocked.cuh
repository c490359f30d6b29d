#pragma once

#include "kernels/block/block_cholesky.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

/// One matrix a thread block.
template <class C, int rows, int columns, bool upper>
__global__ void __launch_bounds__(32 * cholesky_warps,
                                  cholesky_blocks(scalar_words<C>, detail::Arithmetic<C>::is_complex, rows, columns))
    potrf_blocked_kernel(const MatrixBatchView<C> a, int* info) {
  using Factorization = BlockCholesky<C, rows, columns, upper>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (matrix.rows <= largest_tiny_order) return;
  const int outcome = Factorization(matrix, *reinterpret_cast<typename Factorization::Diagonal*>(shared)).run();
  if (threadIdx.x == 0) info[k] = outcome;
}

template <class C, int rows, int columns>
void potrf_blocked(bool upper, int warps, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  launch_blocked(upper ? potrf_blocked_kernel<C, rows, columns, true> : potrf_blocked_kernel<C, rows, columns, false>,
                 "potrf_blocked", 32 * warps, a.count,
                 sizeof(typename BlockCholesky<C, rows, columns, false>::Diagonal), stream, a, info);
}

template <class C>
void potrf_blocked(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  constexpr bool complex = detail::Arithmetic<C>::is_complex;
  const bool upper = triangle == batched::Triangle::upper;
  const CholeskyPolicy policy = cholesky_policy(scalar_words<C>, complex, a.rows);
  const auto launch = [&]<int rows, int columns>() {
    potrf_blocked<C, rows, columns>(upper, policy.warps, a, info, stream);
  };
  if (policy.columns == 2) return launch.template operator()<2, 2>();
  if constexpr (!complex)
    if (policy.rows == 4) {
      if constexpr (sizeof(C) == 8)
        if (policy.columns == 8) return launch.template operator()<4, 8>();
      return launch.template operator()<4, 4>();
    }
  if constexpr (complex || sizeof(C) == 4) launch.template operator()<2, 4>();
}

}  // namespace blockjacobi::kernels
