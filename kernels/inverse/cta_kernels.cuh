#pragma once

#include "kernels/inverse/cta.cuh"
#include "kernels/inverse/fill_matrix.cuh"
#include "kernels/launch/cta.cuh"

namespace blockjacobi::kernels {

/// By Gauss-Jordan elimination, one matrix a thread block of at most Threads threads. Ctas thread blocks a
/// multiprocessor bound the registers.
template <class C, int W, GaussJordanPlace Place, int Threads, int Ctas>
__global__ void __launch_bounds__(Threads, Ctas)
    inverse_cta_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, const GaussJordanPolicy policy,
                       int* info) {
  using Elimination = CtaGaussJordan<C, W, Threads / 32>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  const auto layout = Elimination::Layout::of(n, policy);
  const auto outcome = Elimination{shared, n, layout}.template run_in<Place>(matrix, inverse);
  if (!outcome.regular) fill_matrix(inverse, quiet_nan<C>());
  if (threadIdx.x == 0) info[k] = outcome.info;
}

}  // namespace blockjacobi::kernels
