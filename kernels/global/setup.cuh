#pragma once

#include "kernels/global/block_batch.hpp"
#include "kernels/launch.hpp"
#include "kernels/subwarp/extract.cuh"

namespace blockjacobi::kernels {

/// Outcome of one block.
template <class R>
struct Outcome {
  int info;
  R rcond;
};

/// The entries of one slot.
template <class C>
__device__ MapRange entries_of(const SetupArguments<C>& arguments, offset_t slot) {
  return {arguments.map_source, arguments.map_position, arguments.map_begin[slot], arguments.map_begin[slot + 1]};
}

/// By one thread.
template <class C>
__device__ void store_outcome(const SetupArguments<C>& arguments, const BlockSlot& slot,
                              const Outcome<detail::arithmetic_real_t<C>>& outcome) {
  arguments.info[slot.block] = outcome.info;
  arguments.rcond[slot.block] = outcome.rcond;
  if (outcome.info != 0) atomicAdd(arguments.defects, 1);
}

/// 1 / (a b), 0 if that is not finite.
template <class R>
__device__ R reciprocal_condition(R norm, R inverse_norm) {
  const R rcond = R(1) / (norm * inverse_norm);
  return detail::finite(rcond) ? rcond : R(0);
}

/// One group of lanes a block, orders <= 32.
template <class C>
void setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, int width, CUstream_st* stream);

/// One thread block a block, orders 33..512.
template <class C>
void setup_large(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream);

}  // namespace blockjacobi::kernels
