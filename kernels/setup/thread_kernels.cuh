#pragma once

#include "kernels/launch/tiny_batch.cuh"
#include "kernels/setup/policy.hpp"
#include "kernels/setup/store_outcome.cuh"
#include "kernels/setup/thread.cuh"
#include "kernels/setup/tiny_block.cuh"
#include "kernels/slots.hpp"

namespace blockjacobi::kernels {

/// Extract, equilibrate, invert and store by threads: a warp extracts and stores 32 blocks, N lanes each (4 at order
/// 3), and every thread inverts one.
template <int N, class C>
struct ThreadSetupScratch {
  using Real = detail::arithmetic_real_t<C>;
  using Group = Team<N == 3 ? 4 : N>;
  static constexpr int threads = thread_design_threads;
  static constexpr int stride = setup_tile<N> | 1;  ///< elements between blocks, odd against bank conflicts
  static constexpr int tile_bytes = (32 * stride * static_cast<int>(sizeof(C)) + 15) / 16 * 16;
  static constexpr int scale_bytes = 32 * N * static_cast<int>(sizeof(unsigned));
  static constexpr int warp_bytes = tile_bytes + scale_bytes;
  static constexpr int shared_bytes = threads / 32 * warp_bytes;
};

/// Brings the blocks of the 32 lanes to `tiles`; wait_for_copies() and a barrier must follow.
template <int N, class C>
__device__ void fetch_blocks(const SetupArguments<C>& arguments, const MapRange& entries, int n, C* tiles) {
  using Group = typename ThreadSetupScratch<N, C>::Group;
  const auto group = Group::current();
  const auto from = [](auto value, int lane) { return __shfl_sync(full_warp, value, lane); };
#pragma unroll 4
  for (int t = group.number; t < 32; t += Group::per_warp) {
    const detail::MapSlot slot{from(entries.slot.begin, t), from(entries.slot.first_source, t),
                               from(entries.slot.row_stride, t)};
    fetch_entries<N, Group::lanes>(arguments.values, arguments.map, {slot, from(entries.end, t)}, from(n, t),
                                   group.rank, tiles + t * ThreadSetupScratch<N, C>::stride, from(n, t) | 1);
  }
}

template <int N, bool exactly, class C>
__global__ void __launch_bounds__(ThreadSetupScratch<N, C>::threads, thread_design_per_multiprocessor(scalar_of<C>, N))
    setup_thread_kernel(const SetupArguments<C> arguments, const SlotRange range) {
  using Memory = ThreadSetupScratch<N, C>;
  using Real = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared[];

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * Memory::threads + (static_cast<int>(threadIdx.x) - lane);
  if (first >= range.count) return;  // whole warps leave; no barrier of the thread block follows
  const bool exists = first + lane < range.count;
  const offset_t s = range.first + (exists ? first + lane : range.count - 1);
  const BlockSlot slot = arguments.slots[s];
  const MapRange entries = range_of(arguments.map, s);
  const int n = exactly ? N : slot.size;
  unsigned char* const own = shared + static_cast<int>(threadIdx.x) / 32 * Memory::warp_bytes;
  C* const tiles = reinterpret_cast<C*>(own);

  if (Team<32>::any_in_warp(!is_full(arguments.map, entries, n))) {
    for (int e = lane; e < 32 * Memory::stride; e += 32) tiles[e] = C{};
  }
  __syncwarp();
  fetch_blocks<N>(arguments, entries, n, tiles);
  wait_for_copies();
  __syncwarp();

  C* const block = tiles + lane * Memory::stride;
  ThreadSetup<C, N> setup{n, reinterpret_cast<unsigned*>(own + Memory::tile_bytes) + lane};
  const bool served = setup.run(block);
  const bool accepted = served && setup.rcond >= detail::singular_threshold<Real>(n);
  if (served) setup.store(block);
  __syncwarp();

  const auto group = Memory::Group::current();
#pragma unroll 2
  for (int t = group.number; t < 32; t += Memory::Group::per_warp) {
    const int order = __shfl_sync(full_warp, n, t);
    C* const inverse = arguments.inverse + __shfl_sync(full_warp, slot.start, t);
    if (first + t < range.count)
      copy_block(tiles + t * Memory::stride, inverse, order * order, group.rank, Memory::Group::lanes);
  }
  if (!exists) return;
  if (accepted)
    store_outcome(arguments, slot, {0, setup.rcond});
  else
    leave_undecided(arguments, slot, s, served, setup.rcond);
}

}  // namespace blockjacobi::kernels
