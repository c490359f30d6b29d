#pragma once

#include "kernels/block/block_qr.cuh"
#include "kernels/global/blocked_launch.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

/// One matrix a thread block. Matrices that others factorize are left out: of several orders the tiny ones.
template <class C>
__global__ void __launch_bounds__(uncached_threads, 1) geqrf_blocked_kernel(const MatrixBatchView<C> a, C* tau) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (max(matrix.rows, matrix.cols) <= largest_tiny_order) return;
  BlockQr<C, qr_panel>(matrix, tau + k * min(a.rows, a.cols), shared).run();
}

template <class C>
void geqrf_blocked(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  launch_blocked(geqrf_blocked_kernel<C>, "geqrf_blocked", a.rows, a.count,
                 BlockQr<C, qr_panel>::bytes(a.rows, threads_for_rows(a.rows)), stream, a, tau);
}

}  // namespace blockjacobi::kernels
