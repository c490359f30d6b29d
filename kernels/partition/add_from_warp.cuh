#pragma once

#include "kernels/collectives/lanes.cuh"

namespace blockjacobi::kernels {

/// *total += the sum over the lanes of `own`. Called by whole warps.
__device__ inline void add_from_warp(unsigned long long* total, unsigned long long own) {
  own = Lanes<32>::current().reduce(own, [](auto a, auto b) { return a + b; });
  if (threadIdx.x % 32 == 0 && own != 0) atomicAdd(total, own);
}

}  // namespace blockjacobi::kernels
