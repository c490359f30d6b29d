#pragma once

#include "core/shared/matrix_batch.hpp"

namespace blockjacobi::kernels {

/// Fills the matrix, by the thread block.
template <class C>
__device__ void fill_matrix(const detail::MatrixRef<C>& x, C value) {
  for (int j = static_cast<int>(threadIdx.x) / 32; j < x.cols; j += static_cast<int>(blockDim.x) / 32)
    for (int i = static_cast<int>(threadIdx.x) % 32; i < x.rows; i += 32) x(i, j) = value;
}

}  // namespace blockjacobi::kernels
