#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/lanes.cuh"

namespace blockjacobi::kernels {

/// LU factorization with partial pivoting of one square matrix in its place in global memory by a thread block, column
/// by column, right-looking. Takes no shared memory to speak of. Returns the first step whose pivot is zero (from 1),
/// or 0.
template <class C>
__device__ int plain_lu(const detail::MatrixRef<C>& a, index_t* ipiv) {
  using Real = detail::arithmetic_real_t<C>;
  __shared__ int pivot_row;
  const auto lanes = Lanes<32>::current();
  const int n = a.rows, thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  int first_zero = 0;
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    if (thread < 32) {
      PivotCandidate<Real> best{Real(-1), n};
      for (int i = k + lanes.rank; i < n; i += 32) {
        const Real candidate = pivot_magnitude(a(i, k));
        if (candidate > best.magnitude) best = {candidate, i};
      }
      best = best_pivot(lanes, best);
      if (lanes.rank == 0) {
        pivot_row = best.order;
        ipiv[k] = best.order + 1;
      }
    }
    __syncthreads();
    const int p = pivot_row;
    for (int j = thread; p != k && j < n; j += threads) {
      const C value = a(p, j);
      a(p, j) = a(k, j);
      a(k, j) = value;
    }
    __syncthreads();
    const C pivot = a(k, k);
    if (detail::is_zero(pivot)) {  // and all below
      if (first_zero == 0) first_zero = k + 1;
      continue;
    }
    const Divisor<C> divisor(pivot);
    for (int i = k + 1 + thread; i < n; i += threads) a(i, k) = divisor.divide(a(i, k));
    __syncthreads();
    for (int j = k + 1 + thread / 32; j < n; j += threads / 32) {
      const C u = a(k, j);
      for (int i = k + 1 + lanes.rank; i < n; i += 32) a(i, j) = fused_subtract(a(i, j), a(i, k), u);
    }
    __syncthreads();
  }
  return first_zero;
}

}  // namespace blockjacobi::kernels
