#pragma once

#include "kernels/launch/cta.cuh"
#include "kernels/qr/cta.cuh"
#include "kernels/qr/cta_plain.cuh"
#include "kernels/qr/policy.hpp"

namespace blockjacobi::kernels {

/// One matrix a thread block. Matrices that others factorize are left out: of several orders the tiny ones.
template <class C, int columns, int rows, int warps, int stages>
__global__ void __launch_bounds__(32 * warps, 1) geqrf_cta_kernel(const MatrixBatchView<C> a, C* tau) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (max(matrix.rows, matrix.cols) <= largest_tiny_order) return;
  CtaQr<C, columns, rows, stages>(matrix, tau + k * min(a.rows, a.cols), shared).run();
}

/// The same where shared memory has no room for the reflectors of CtaQr.
template <class C>
__global__ void __launch_bounds__(plain_qr_threads) geqrf_cta_plain_kernel(const MatrixBatchView<C> a, C* tau) {
  __shared__ PlainQrScratch<detail::arithmetic_real_t<C>> scratch;
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  if (max(matrix.rows, matrix.cols) <= largest_tiny_order) return;
  plain_qr(matrix, tau + k * min(a.rows, a.cols), scratch);
}

}  // namespace blockjacobi::kernels
