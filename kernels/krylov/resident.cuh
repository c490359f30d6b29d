#pragma once

#include "kernels/apply/lanes.cuh"
#include "kernels/collectives/grid_exchange.cuh"
#include "kernels/krylov/resident_inverse.cuh"
#include "kernels/krylov/resident_rows.cuh"

// Iterations of a solver in one launch, for systems that live in L2: a thread block has whole blocks of rows, keeps
// their entries in shared memory with the elements that they multiply, and their inverses if there is room. Sums over
// all rows are all that an iteration waits for. Nothing but these and elements of vectors passes between thread blocks,
// by messages: a fence for what would be written otherwise takes as long as all the rest of an exchange. The scalar
// steps run in every thread block.

namespace blockjacobi::kernels {

/// Calls work(row, rank, exists) for all rows of the thread block, by `lanes` lanes each; whole warps stay together.
template <class Work>
__device__ void for_each_row(int rows, int lanes, Work work) {
  const int thread = static_cast<int>(threadIdx.x), groups = resident_policy.threads / lanes;
  for (int base = 0; base < rows; base += groups) {
    const int row = base + thread / lanes;
    work(row, thread & (lanes - 1), row < rows);
  }
}

template <class C>
__device__ C sum_of_lanes(C sum, int lanes) {
  for (int half = lanes / 2; half > 0; half /= 2)
    sum += broadcast_within(sum, (static_cast<int>(threadIdx.x) % 32) ^ half, 32);
  return sum;
}

}  // namespace blockjacobi::kernels
