#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/inverse/cta_definite.cuh"
#include "kernels/launch/cta.cuh"

namespace blockjacobi::kernels {

/// One definite matrix a thread block, of the orders above `above` up to `largest` of the batch. Of `a` one triangle is
/// read; the result is full, or the same triangle packed.
template <class C>
__global__ void __launch_bounds__(32 * most_definite_warps)
    spd_inverse_cta_kernel(const MatrixBatchView<const C> a, const MatrixBatchView<C> x, const int above,
                           const int largest, const bool upper, const bool packed, int* info) {
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t k = blockIdx.x;
  const auto matrix = detail::matrix_of(a, k);
  const int n = matrix.rows;
  if (n <= above || n > largest) return;
  const CtaDefinite<C> definite(shared, n);
  definite.load([&](int i, int j) { return upper ? &matrix(j, i) : &matrix(i, j); });
  wait_for_copies();
  bool finite = true;
  definite.for_each([&](int, int, const C& element) { finite = finite && detail::finite(element); });
  const bool all_finite = __syncthreads_and(finite) != 0;
  const int outcome = definite.run();
  const bool regular = all_finite && outcome == 0;
  const auto result = detail::matrix_of(x, k, n, n);
  definite.for_each([&](int i, int j, const C& element) {
    if (i >= n || j > i) return;
    // an upper triangle was taken for a lower one, that of the conjugate matrix
    const C own = !regular ? quiet_nan<C>() : i == j ? detail::from_real<C>(-detail::real_part(element)) : -element;
    if (packed) {
      result.data[upper ? j + i * (i + 1) / 2 : i + j * (2 * n - j - 1) / 2] = own;
    } else {
      result(upper ? j : i, upper ? i : j) = own;
      if (i != j) result(upper ? i : j, upper ? j : i) = detail::conj(own);
    }
  });
  if (threadIdx.x == 0) info[k] = outcome;
}

}  // namespace blockjacobi::kernels
