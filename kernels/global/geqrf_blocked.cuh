#pragma once

#include "kernels/block/block_qr.cuh"
#include "kernels/global/blocked_launch.cuh"

namespace blockjacobi::kernels {

/// One matrix a thread block. Matrices that others factorize are left out: of several orders the tiny ones.
template <class C, int columns, int rows, int warps, int stages>
__global__ void __launch_bounds__(32 * warps, 1) geqrf_blocked_kernel(const MatrixBatchView<C> a, C* tau) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (max(matrix.rows, matrix.cols) <= largest_tiny_order) return;
  BlockQr<C, columns, rows, stages>(matrix, tau + k * min(a.rows, a.cols), shared).run();
}

template <class C, QrShape shape>
void geqrf_blocked(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  using Factorization = BlockQr<C, shape.columns, shape.rows, shape.stages>;
  launch_blocked(geqrf_blocked_kernel<C, shape.columns, shape.rows, shape.warps, shape.stages>, "geqrf_blocked",
                 32 * Factorization::bands(a.rows), a.count, Factorization::bytes(a.rows, a.cols), stream, a, tau);
}

/// With the shape for m rows; `representatives` have all shapes among them.
template <class C, int... representatives>
void geqrf_blocked_by_shape(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  constexpr int words = scalar_words<C>;
  constexpr bool complex = detail::Arithmetic<C>::is_complex;
  const QrShape shape = qr_shape(words, complex, a.rows);
  const bool found = ((shape == qr_shape(words, complex, representatives) &&
                       (geqrf_blocked<C, qr_shape(words, complex, representatives)>(a, tau, stream), true)) ||
                      ...);
  if (!found) check(cudaErrorInvalidConfiguration, "geqrf_blocked");
}

template <class C>
void geqrf_blocked(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  if constexpr (detail::Arithmetic<C>::is_complex)
    geqrf_blocked_by_shape<C, 128, 384, largest_blocked_order>(a, tau, stream);
  else
    geqrf_blocked_by_shape<C, 40, 48, 64, 128, 160, 384, largest_blocked_order>(a, tau, stream);
}

}  // namespace blockjacobi::kernels
