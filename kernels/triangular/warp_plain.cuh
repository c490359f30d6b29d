#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/lanes.cuh"
#include "kernels/triangular/factor.cuh"

namespace blockjacobi::kernels {

/// Solves with one triangle for one right-hand side in its place in global memory, by a warp.
template <bool forward, class C>
__device__ void plain_substitution(const TriangularFactor<C>& factor, int n, C* x) {
  const auto lanes = Lanes<32>::current();
  const auto element = [&](int i, int k) {
    const C value = factor.data[i * factor.row + k * factor.column];
    return factor.conjugate ? detail::conj(value) : value;
  };
#pragma unroll 1
  for (int step = 0; step < n; ++step) {
    const int k = forward ? step : n - 1 - step;
    const C x_k = factor.unit ? x[k] : Divisor<C>(element(k, k)).divide(x[k]);
    lanes.sync();
    if (lanes.rank == 0) x[k] = x_k;
    for (int i = (forward ? k + 1 : 0) + lanes.rank; i < (forward ? n : k); i += 32)
      x[i] = fused_subtract(x[i], element(i, k), x_k);
    lanes.sync();
  }
}

/// getrf's interchanges of one right-hand side, or of the result for a transpose in the reverse order; by a warp.
template <class C>
__device__ void plain_interchanges(const index_t* ipiv, int n, bool reverse, C* x) {
  const auto lanes = Lanes<32>::current();
  for (int step = 0; lanes.rank == 0 && ipiv != nullptr && step < n; ++step) {
    const int k = reverse ? n - 1 - step : step, p = ipiv[k] - 1;
    const C value = x[p];
    x[p] = x[k];
    x[k] = value;
  }
  lanes.sync();
}

}  // namespace blockjacobi::kernels
