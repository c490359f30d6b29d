#pragma once

namespace blockjacobi::kernels {

/// Barrier of `warps` warps of a thread block, always the same ones between two barriers of all; the others go on.
/// Orders accesses of shared memory. why not __syncthreads() by the others too: all warps must wait at one place of
/// the code.
__device__ inline void sync_crew(int warps) {
  if (warps == 1)
    __syncwarp();
  else
    asm volatile("bar.sync 1, %0;" : : "r"(32 * warps) : "memory");  // __syncthreads() is barrier 0
}

}  // namespace blockjacobi::kernels
