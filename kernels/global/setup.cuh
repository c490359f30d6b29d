#pragma once

#include "backend/block_ops.hpp"
#include "core/shared/compute_type.hpp"
#include "kernels/global/block_batch.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::kernels {

/// What the set-up kernels work on; C is the compute scalar.
template <class C>
struct SetupArguments {
  const C* values;
  detail::PositionMapView map;
  C* inverse;
  const BlockSlot* slots;
  detail::Fallback fallback;
  int* info;
  detail::arithmetic_real_t<C>* rcond;
  int* defects;
};

/// Outcome of one block.
template <class R>
struct Outcome {
  int info;
  R rcond;
};

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
