#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/arithmetic.cuh"

namespace blockjacobi::kernels {

/// The inverse from a Cholesky factor, whose inverse takes its place in global memory on the way, by a thread block.
/// An upper factor is read as its transpose, the lower one of the conjugate matrix, whose inverse it gives. `row`: n
/// elements of shared memory. The diagonal must have no zero; a barrier must come before. Calls store(i, j, x_ij) for
/// the lower triangle.
template <bool upper, class C, class Store>
__device__ void plain_inverse_from_cholesky(const detail::MatrixRef<C>& factor, C* row, Store store) {
  const int n = factor.rows, thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const auto at = [&](int i, int j) -> C& { return upper ? factor(j, i) : factor(i, j); };
  // Row i of L^-1: -(l_i L^-1) / l_ii, of the rows above.
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    for (int k = thread; k <= i; k += threads)
      row[k] = k < i ? at(i, k) : detail::from_real<C>(detail::real_part(at(i, i)));
    __syncthreads();
    const C inverse = Divisor<C>(row[i]).reciprocal();
    for (int j = thread; j < i; j += threads) {
      C sum{};
      for (int k = j; k < i; ++k) sum = fused_add(sum, row[k], at(k, j));
      at(i, j) = -(sum * inverse);
    }
    if (thread == 0) at(i, i) = inverse;
    __syncthreads();
  }
  // Row i of L^-H L^-1 takes the rows of L^-1 from i on.
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    for (int j = thread; j <= i; j += threads) {
      C sum{};
      for (int k = i; k < n; ++k) sum = fused_add(sum, detail::conj(at(k, i)), at(k, j));
      row[j] = j == i ? detail::from_real<C>(detail::real_part(sum)) : sum;
    }
    __syncthreads();
    for (int j = thread; j <= i; j += threads) store(i, j, row[j]);
    __syncthreads();
  }
}

}  // namespace blockjacobi::kernels
