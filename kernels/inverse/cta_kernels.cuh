#pragma once

#include "kernels/inverse/cta.cuh"
#include "kernels/inverse/cta_in_place.cuh"
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

/// One matrix a thread block, in its place in global memory: where shared memory has no room for the panels of
/// inverse_cta_kernel(). InPlaceElimination::bytes() of dynamic shared memory.
template <class C>
__global__ void __launch_bounds__(plain_inverse_threads)
    inverse_cta_plain_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, const int panel_width,
                             int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows, lane = static_cast<int>(threadIdx.x) % 32;
  if (n <= largest_tiny_order) return;
  const auto inverse = detail::matrix_of(x, k, n, n);
  bool finite = true;
  for (int j = static_cast<int>(threadIdx.x) / 32; j < n; j += plain_inverse_threads / 32)
    for (int i = lane; i < n; i += 32) {
      const C value = matrix(i, j);
      finite = detail::finite(value) && finite;
      inverse(i, j) = value;
    }
  int zero = 0;
  const bool regular =
      __syncthreads_and(finite) != 0 && (zero = InPlaceElimination<C>::in(shared, inverse, panel_width).invert()) == 0;
  __syncthreads();
  if (!regular) fill_matrix(inverse, quiet_nan<C>());
  if (threadIdx.x == 0) info[k] = zero;
}

}  // namespace blockjacobi::kernels
