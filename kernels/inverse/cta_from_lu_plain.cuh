#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/arithmetic.cuh"

namespace blockjacobi::kernels {

/// The inverse from the factors of getrf, in their place in global memory, by a thread block: U^-1 column by column,
/// then X L = U^-1 from the right, then the columns interchanged. `column`: n elements of shared memory. The diagonal
/// of U must have no zero; a barrier must come before.
template <class C>
__device__ void plain_inverse_from_lu(const detail::MatrixRef<C>& x, const index_t* ipiv, C* column) {
  const int n = x.rows, thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
#pragma unroll 1
  for (int j = 0; j < n; ++j) {
    for (int i = thread; i <= j; i += threads) column[i] = x(i, j);
    __syncthreads();
    const C inverse = Divisor<C>(column[j]).reciprocal();
    for (int i = thread; i < j; i += threads) {
      C sum{};
      for (int k = i; k < j; ++k) sum = fused_add(sum, x(i, k), column[k]);
      x(i, j) = -(sum * inverse);
    }
    if (thread == 0) x(j, j) = inverse;
    __syncthreads();
  }
#pragma unroll 1
  for (int j = n - 2; j >= 0; --j) {
    for (int i = j + 1 + thread; i < n; i += threads) column[i] = x(i, j);
    __syncthreads();
    for (int i = thread; i < n; i += threads) {
      C value = i <= j ? x(i, j) : C{};
      for (int k = j + 1; k < n; ++k) value = fused_subtract(value, x(i, k), column[k]);
      x(i, j) = value;
    }
    __syncthreads();
  }
  // A thread keeps to its rows.
  for (int i = thread; i < n; i += threads)
    for (int k = n - 1; k >= 0; --k) {
      const int p = ipiv[k] - 1;
      const C value = x(i, p);
      x(i, p) = x(i, k);
      x(i, k) = value;
    }
}

}  // namespace blockjacobi::kernels
