#pragma once

#include "kernels/collectives/arithmetic.cuh"

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// The place to which getrf's n interchanges, counted from 1, bring row i. They are padded to a multiple of 4 by
/// interchanges of a row with itself.
__device__ inline int place_after_interchanges(const index_t* ipiv, int n, int i) {
  int place = i + 1;
#pragma unroll 4
  for (int first = 0; first < n; first += 4) {
    const Vector16<index_t> four = reinterpret_cast<const Vector16<index_t>*>(ipiv)[first / 4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int pivot = four.value[k], own = first + k + 1;
      place = place == own ? pivot : place == pivot ? own : place;
    }
  }
  return place - 1;
}

/// Leaves in `rows` the row that getrf's interchanges bring to each place, or each row itself if ipiv is null. By a
/// thread block with a thread for each row; `rows` is in shared memory, aligned to 16 bytes, with room for all threads.
/// Ends with a barrier.
__device__ inline void find_interchanged_rows(const index_t* ipiv, int n, int* rows) {
  const int thread = static_cast<int>(threadIdx.x);
  rows[thread] = ipiv == nullptr ? thread : thread < n ? ipiv[thread] : thread + 1;
  __syncthreads();
  if (ipiv == nullptr) return;
  const int place = place_after_interchanges(rows, n, thread);
  __syncthreads();  // all interchanges are read
  rows[place] = thread;
  __syncthreads();
}

}  // namespace blockjacobi::kernels
