#pragma once

#include "kernels/setup/launch.hpp"
#include "kernels/setup/outcome.cuh"

namespace blockjacobi::kernels {

/// Tells what became of a block; by one thread.
template <class C>
__device__ void store_outcome(const SetupArguments<C>& arguments, const BlockSlot& slot,
                              const Outcome<detail::arithmetic_real_t<C>>& outcome) {
  arguments.info[slot.block] = outcome.info;
  arguments.rcond[slot.block] = outcome.rcond;
  if (outcome.info != 0) atomicAdd(arguments.defects, 1);
}

}  // namespace blockjacobi::kernels
