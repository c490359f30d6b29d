#pragma once

#include "kernels/global/block_batch.hpp"
#include "kernels/launch.hpp"
#include "kernels/subwarp/outcome.cuh"

namespace blockjacobi::kernels {

/// By one thread.
template <class C>
__device__ void store_outcome(const SetupArguments<C>& arguments, const BlockSlot& slot,
                              const Outcome<detail::arithmetic_real_t<C>>& outcome) {
  arguments.info[slot.block] = outcome.info;
  arguments.rcond[slot.block] = outcome.rcond;
  if (outcome.info != 0) atomicAdd(arguments.defects, 1);
}

/// One team or one thread a block, orders of one class (multiples of 4 up to 32).
template <class C>
void setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream);

/// One thread block a block, orders 33..512.
template <class C>
void setup_large(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream);

}  // namespace blockjacobi::kernels
