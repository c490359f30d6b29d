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

/// Notes a block for setup_careful_tiny_kernel(); by one thread.
template <class C>
__device__ void leave_undecided(const SetupArguments<C>& arguments, const BlockSlot& slot, offset_t s, bool is_inverted,
                                detail::arithmetic_real_t<C> rcond) {
  store_outcome(arguments, slot, {is_inverted ? info_suspect : info_undecided, rcond});
  const int place = atomicAdd(arguments.undecided(), 1);
  if (place < arguments.most_noted()) arguments.undecided()[1 + place] = static_cast<int>(s);
}

}  // namespace blockjacobi::kernels
