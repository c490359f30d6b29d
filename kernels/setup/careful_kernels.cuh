#pragma once

#include "kernels/setup/cta_block.cuh"
#include "kernels/setup/launch.hpp"
#include "kernels/setup/policy.hpp"
#include "kernels/setup/store_outcome.cuh"
#include "kernels/setup/team_careful.cuh"
#include "kernels/setup/tiny_block.cuh"
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

/// A tiny block for each warp.
template <class C>
struct CarefulTinyMemory {
  using Scratch = typename CarefulSetup<C>::Scratch;
  static constexpr int threads = 32 * careful_tiny_warps;
  static constexpr int tile_bytes = setup_tile<largest_tiny_order> * static_cast<int>(sizeof(C));
  static constexpr int warp_bytes = tile_bytes + Scratch::bytes;
  static constexpr int shared_bytes = careful_tiny_warps * warp_bytes;
};

/// The tiny blocks that the fast kernels left undecided. A kernel of its own, since few blocks need it: its registers
/// and its code shall not be taken from what works on all of them. Nothing but one load where there is none.
template <class C>
__global__ void __launch_bounds__(CarefulTinyMemory<C>::threads, 4)
    setup_careful_tiny_kernel(const SetupArguments<C> arguments, const SlotRange range) {
  using Memory = CarefulTinyMemory<C>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  const int count = *arguments.undecided();
  if (count == 0) return;
  const auto warp = Team<32>::current();
  const int own = static_cast<int>(threadIdx.x) / 32;
  unsigned char* const memory = shared_bytes + own * Memory::warp_bytes;
  C* const block = reinterpret_cast<C*>(memory);
  const auto decide = [&](offset_t s) {
    const BlockSlot slot = arguments.slots[s];
    const int n = slot.size;
    const MapRange entries = range_of(arguments.map, s);
    if (!is_full(arguments.map, entries, n)) {
      for (int e = warp.rank; e < n * (n | 1); e += 32) block[e] = C{};
    }
    __syncwarp();
    fetch_entries<16, 32>(arguments.values, arguments.map, entries, n, warp.rank, block, n | 1);
    wait_for_copies();
    __syncwarp();
    const CarefulSetup<C> careful{block, n, warp, typename Memory::Scratch(memory + Memory::tile_bytes),
                                  arguments.inverse + slot.start};
    Outcome<detail::arithmetic_real_t<C>> outcome{detail::info_ill_conditioned(n), arguments.rcond[slot.block]};
    const bool is_suspect = arguments.info[slot.block] == info_suspect;
    if (is_suspect && careful.is_singular_in_all_units(arguments.inverse + slot.start))
      careful.replace(arguments.fallback);
    else
      outcome = careful.run(arguments.fallback);
    __syncwarp();
    copy_block(block, arguments.inverse + slot.start, n * n, warp.rank, 32);
    __syncwarp();
    if (warp.rank != 0) return;
    arguments.info[slot.block] = outcome.info;
    arguments.rcond[slot.block] = outcome.rcond;
    if (outcome.info == 0) atomicSub(arguments.defects, 1);
  };
  const offset_t warps = offset_t{gridDim.x} * careful_tiny_warps;
  const offset_t number = offset_t{blockIdx.x} * careful_tiny_warps + own;
  if (count <= arguments.most_noted()) {
    for (offset_t k = number; k < count; k += warps) decide(arguments.undecided()[1 + k]);
    return;
  }
  for (offset_t first = number * 32; first < range.count; first += warps * 32) {
    const offset_t s = first + warp.rank;
    const bool undecided = s < range.count && arguments.info[arguments.slots[range.first + s].block] >= info_suspect;
    for (unsigned left = __ballot_sync(full_warp, undecided); left != 0; left &= left - 1)
      decide(range.first + first + __ffs(static_cast<int>(left)) - 1);
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

/// Where shared memory has no room for setup_cta_kernel(): leaves all blocks but those with NaN or Inf to
/// setup_careful_kernel(). A block a thread block, with cta_block_bytes() for panels of one column.
template <class C>
__global__ void __launch_bounds__(repair_threads, 1)
    setup_cta_plain_kernel(const SetupArguments<C> arguments, const index_t first_slot) {
  using R = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  __shared__ CtaBlockScratch<C> scratch;
  const offset_t s = first_slot + static_cast<offset_t>(blockIdx.x);
  if (arguments.is_decided(s)) return;
  const BlockSlot slot = arguments.slots[s];
  const int n = slot.size;
  const CtaBlock<C> block(arguments.inverse + slot.start, n, 1, shared_bytes, scratch);
  block.extract(arguments.values, arguments.map, s);
  const int bad = block.first_non_finite();
  Outcome<R> outcome{detail::info_ill_conditioned(n), 0};
  if (bad != INT_MAX) {
    outcome = {detail::info_non_finite(bad % n, bad / n, n), R(0) / R(0)};
    block.set_diagonal(arguments.fallback);
  }
  if (threadIdx.x == 0) store_outcome(arguments, slot, outcome);
}

}  // namespace blockjacobi::kernels
