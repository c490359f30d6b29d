#pragma once

#include "kernels/collectives/copy_async.cuh"
#include "kernels/collectives/panel.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// Column j becomes column place(j), in place, some rows at a time through `buffer`; by the thread block, with as many
/// threads as rows of the matrix or more. All have passed a barrier before; it ends with one.
template <class C, class Place>
__device__ void permute_columns(const detail::MatrixRef<C>& x, const Place& place, C* buffer, int elements) {
  const int thread = static_cast<int>(threadIdx.x), height = elements / x.cols >= 32 ? 32 : 16;
  const int row = thread % height, group = thread / height, groups = static_cast<int>(blockDim.x) / height;
#pragma unroll 1
  for (int first = 0; first < x.rows; first += height) {
    const bool exists = first + row < x.rows;
#pragma unroll 4
    for (int j = group; j < x.cols; j += groups)
      if (exists) copy_async(buffer + j * height + row, column_of(x, j) + first + row);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
#pragma unroll 4
    for (int j = group; j < x.cols; j += groups)
      if (exists) column_of(x, place(j))[first + row] = buffer[j * height + row];
    __syncthreads();
  }
}

}  // namespace blockjacobi::kernels
