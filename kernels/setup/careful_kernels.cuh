#pragma once

#include "kernels/setup/cta_block.cuh"
#include "kernels/setup/launch.hpp"
#include "kernels/setup/policy.hpp"
#include "kernels/slots.hpp"

namespace blockjacobi::kernels {

/// Calls repair(s) for the slots of the range whose block is singular, by whole thread blocks. Nothing but one load
/// where there is none.
template <class C, class Repair>
__device__ void for_each_singular(const SetupArguments<C>& arguments, const SlotRange& range, Repair repair) {
  if (*arguments.defects == 0) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // All warps look at the same 32 slots and come to the same list.
  for (offset_t first = offset_t{blockIdx.x} * 32; first < range.count; first += offset_t{gridDim.x} * 32) {
    const offset_t own = first + lane;
    const bool singular = own < range.count && arguments.info[arguments.slots[range.first + own].block] > 0;
    for (unsigned left = __ballot_sync(~0u, singular); left != 0; left &= left - 1) {
      repair(range.first + first + __ffs(static_cast<int>(left)) - 1);
      __syncthreads();
    }
  }
}

/// What setup_cta_kernel() refused once more, with thorough equilibration.
template <class C>
__global__ void __launch_bounds__(repair_threads, 1)
    setup_careful_kernel(const SetupArguments<C> arguments, const SlotRange range, const int panel_width) {
  using R = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ CtaBlockScratch<C> scratch;
  for_each_singular(arguments, range, [&](offset_t s) {
    const BlockSlot slot = arguments.slots[s];
    const int n = slot.size;
    const CtaBlock<C> block(arguments.inverse + slot.start, n, panel_width, shared_bytes, scratch);
    block.extract(arguments.values, arguments.map, s);
    block.equilibrate_thoroughly(block.elimination.panel);
    const R norm = block.infinity_norm();
    const int zero_pivot = block.elimination.invert();
    const R rcond = zero_pivot != 0 ? R(0) : reciprocal_condition(norm, block.infinity_norm());
    const bool accepted = zero_pivot == 0 && block.undo_scaling() && rcond >= detail::singular_threshold<R>(n);
    if (!accepted) block.set_diagonal(arguments.fallback);
    if (threadIdx.x != 0) return;
    arguments.rcond[slot.block] = rcond;
    arguments.info[slot.block] = accepted ? 0 : zero_pivot != 0 ? zero_pivot : detail::info_ill_conditioned(n);
    if (accepted) atomicSub(arguments.defects, 1);
  });
}

}  // namespace blockjacobi::kernels
