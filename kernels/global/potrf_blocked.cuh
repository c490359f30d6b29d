#pragma once

#include "kernels/block/block_cholesky.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

template <class C, bool cached>
using CholeskyByRows = BlockCholesky<C, cholesky_panel(scalar_words<C>), cached>;

/// One matrix a thread block.
template <class C, bool cached>
__global__ void __launch_bounds__(cached ? cached_threads : uncached_threads, 1)
    potrf_blocked_kernel(const batched::Triangle triangle, const MatrixBatchView<C> a, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (matrix.rows <= largest_tiny_order) return;
  const int outcome = CholeskyByRows<C, cached>(StoredTriangle<C>(matrix, triangle), shared).run();
  if (threadIdx.x == 0) info[k] = outcome;
}

template <class C>
void potrf_blocked(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  const auto launch = [&]<bool cached>() {
    launch_blocked(potrf_blocked_kernel<C, cached>, "potrf_blocked", a.rows, a.count,
                   CholeskyByRows<C, cached>::shared_bytes(a.rows), stream, triangle, a, info);
  };
  if (a.rows <= largest_cached_cholesky(static_cast<int>(sizeof(C) / 4)) &&
      CholeskyByRows<C, true>::shared_bytes(a.rows) <= shared_memory_limit())
    launch.template operator()<true>();
  else
    launch.template operator()<false>();
}

}  // namespace blockjacobi::kernels
