#pragma once

#include "kernels/check.hpp"
#include "kernels/global/setup.cuh"
#include "kernels/global/tiny_batch.cuh"
#include "kernels/subwarp/extract.cuh"
#include "kernels/subwarp/row_setup.cuh"
#include "kernels/subwarp/thread_setup.cuh"
#include "kernels/tuning/setup.hpp"

namespace blockjacobi::kernels {

/// Whether every element of the block has an entry; for a map with duplicates the answer is no.
__device__ inline bool is_full(const detail::PositionMapView& map, const MapRange& entries, int n) {
  return entries.slot.row_stride != 0 || (!map.duplicates && entries.end - entries.slot.begin == n * n);
}

/// Elements of a block of order N whose leading dimension is odd.
template <int N>
inline constexpr int setup_tile = N*(N | 1);

/// out[e] = block[e], e < count, by `size` lanes.
template <class C>
__device__ void copy_block(const C* block, C* out, int count, int rank, int size) {
#pragma unroll 8
  for (int e = rank; e < count; e += size) out[e] = block[e];
}

/// The diagonal of a block whose inverse is not accepted takes its place. `block` has leading dimension n | 1 before
/// and is packed afterwards. All teams of a warp call it together; those with nothing to do have n = 0.
template <int N, int lanes, class C>
__device__ void replace_block(C* block, int n, detail::Fallback fallback, const Team<lanes>& team) {
  constexpr int own = (N + lanes - 1) / lanes;
  C diagonal[own];
#pragma unroll
  for (int q = 0; q < own; ++q)
    if (team.rank + q * lanes < n) diagonal[q] = block[(team.rank + q * lanes) * ((n | 1) + 1)];
  Team<lanes>::sync();
  for (int e = team.rank; e < n * n; e += lanes) block[e] = C{};
  Team<lanes>::sync();
#pragma unroll
  for (int q = 0; q < own; ++q) {
    const int i = team.rank + q * lanes;
    if (i < n) block[i * (n + 1)] = detail::fallback_diagonal(fallback, diagonal[q]);
  }
  Team<lanes>::sync();
}

/// Extract, equilibrate, invert and store by teams: a block each, of order up to N, or `exactly` N. The block visits
/// global memory only as the entries of the matrix and as its inverse.
template <int N, class C>
struct TeamSetup {
  using Scratch = SetupScratch<detail::arithmetic_real_t<C>, N>;
  static constexpr int L = setup_policy<N, C>.lanes, R = setup_policy<N, C>.rows;
  static constexpr int threads = 32 * setup_policy<N, C>.warps;
  static constexpr int blocks = threads / L;  ///< a thread block
  /// Between blocks: the accesses of a team to neighbouring elements go to other banks than those of the next team.
  static constexpr int banks = 128;
  static constexpr int tile_bytes = (setup_tile<N> * static_cast<int>(sizeof(C)) + banks - 1) / banks * banks +
                                    L * static_cast<int>(sizeof(C)) % banks;
  static constexpr int shared_bytes = blocks * (tile_bytes + Scratch::bytes);
  static constexpr int in_flight = 16;  ///< words of the map a lane
  static constexpr int resident =
      setup_warps(words_of<C>, detail::Arithmetic<C>::is_complex, N) / setup_policy<N, C>.warps;
};

template <int N, bool exactly, class C>
__global__ void __launch_bounds__(TeamSetup<N, C>::threads, TeamSetup<N, C>::resident)
    setup_team_kernel(const SetupArguments<C> arguments, const SlotRange range) {
  using Policy = TeamSetup<N, C>;
  using Real = detail::arithmetic_real_t<C>;
  constexpr int L = Policy::L, R = Policy::R;
  extern __shared__ __align__(16) unsigned char shared[];

  const auto team = Team<L>::current();
  const int number = static_cast<int>(threadIdx.x) / L;
  const offset_t member = static_cast<offset_t>(blockIdx.x) * Policy::blocks + number;
  // Teams past the end take the last block too, as all teams of a warp work together.
  const bool exists = member < range.count;
  const offset_t s = range.first + (exists ? member : range.count - 1);
  const BlockSlot slot = arguments.slots[s];
  const int n = exactly ? N : slot.size;
  C* const block = reinterpret_cast<C*>(shared + number * Policy::tile_bytes);
  const typename Policy::Scratch scratch(shared + Policy::blocks * Policy::tile_bytes +
                                         number * Policy::Scratch::bytes);

  const MapRange entries = range_of(arguments.map, s);
  if (!is_full(arguments.map, entries, n)) {
    for (int e = team.rank; e < n * (n | 1); e += L) block[e] = C{};
  }
  Team<L>::sync();
  fetch_entries<Policy::in_flight, L>(arguments.values, arguments.map, entries, n, team.rank, block, n | 1);
  wait_for_entries();
  Team<L>::sync();

  RowTile<C, N, L, R> tile;
  RowInverse<C, N, L, R> elimination(tile, team.rank);
  RowSetup<C, N, L, R> setup{n, team.rank, scratch, tile, elimination};
  const bool served = setup.run(block);
  const bool accepted = served && setup.rcond >= detail::singular_threshold<Real>(n);
  Team<L>::sync();  // the block has been read
  Outcome<Real> outcome{accepted ? 0 : detail::info_ill_conditioned(n), setup.rcond};
  if (accepted) setup.store(block);
  if (Team<L>::any_in_warp(!accepted)) {
    replace_block<N>(block, served && !accepted ? n : 0, arguments.fallback, team);
    const CarefulSetup<C, N, L> careful{block, served ? 0 : n, team, scratch};
    const Outcome<Real> found = careful.run(arguments.fallback);
    if (!served) outcome = found;
  }
  Team<L>::sync();
  if (!exists) return;
  copy_block(block, arguments.inverse + slot.start, n * n, team.rank, L);
  if (team.rank == 0) store_outcome(arguments, slot, outcome);
}

/// The same by threads: a warp extracts and stores 32 blocks, N lanes each (4 at order 3), and every thread inverts
/// one.
template <int N, class C>
struct ThreadSetupPolicy {
  using Real = detail::arithmetic_real_t<C>;
  using Group = Team<N == 3 ? 4 : N>;
  using Scratch = SetupScratch<Real, N>;
  static constexpr int threads = thread_design_threads;
  static constexpr int stride = setup_tile<N> | 1;  ///< elements between blocks, odd against bank conflicts
  static constexpr int tile_bytes = (32 * stride * static_cast<int>(sizeof(C)) + 15) / 16 * 16;
  static constexpr int scale_bytes = 32 * N * static_cast<int>(sizeof(unsigned));
  static constexpr int warp_bytes = tile_bytes + scale_bytes + Scratch::bytes;
  static constexpr int shared_bytes = threads / 32 * warp_bytes;
};

/// Brings the blocks of the 32 lanes to `tiles`; wait_for_entries() and a barrier must follow.
template <int N, class C>
__device__ void fetch_blocks(const SetupArguments<C>& arguments, const MapRange& entries, int n, C* tiles) {
  using Group = typename ThreadSetupPolicy<N, C>::Group;
  const auto group = Group::current();
  const auto from = [](auto value, int lane) { return __shfl_sync(full_warp, value, lane); };
#pragma unroll 4
  for (int t = group.number; t < 32; t += Group::per_warp) {
    const detail::MapSlot slot{from(entries.slot.begin, t), from(entries.slot.first_source, t),
                               from(entries.slot.row_stride, t)};
    fetch_entries<N, Group::lanes>(arguments.values, arguments.map, {slot, from(entries.end, t)}, from(n, t),
                                   group.rank, tiles + t * ThreadSetupPolicy<N, C>::stride, from(n, t) | 1);
  }
}

template <int N, bool exactly, class C>
__global__ void __launch_bounds__(ThreadSetupPolicy<N, C>::threads, thread_design_blocks<N, C>)
    setup_thread_kernel(const SetupArguments<C> arguments, const SlotRange range) {
  using Policy = ThreadSetupPolicy<N, C>;
  using Real = detail::arithmetic_real_t<C>;
  extern __shared__ __align__(16) unsigned char shared[];

  const int lane = static_cast<int>(threadIdx.x) % 32;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * Policy::threads + (static_cast<int>(threadIdx.x) - lane);
  if (first >= range.count) return;  // whole warps leave; no barrier of the thread block follows
  const bool exists = first + lane < range.count;
  const offset_t s = range.first + (exists ? first + lane : range.count - 1);
  const BlockSlot slot = arguments.slots[s];
  const MapRange entries = range_of(arguments.map, s);
  const int n = exactly ? N : slot.size;
  unsigned char* const own = shared + static_cast<int>(threadIdx.x) / 32 * Policy::warp_bytes;
  C* const tiles = reinterpret_cast<C*>(own);

  if (Team<32>::any_in_warp(!is_full(arguments.map, entries, n))) {
    for (int e = lane; e < 32 * Policy::stride; e += 32) tiles[e] = C{};
  }
  __syncwarp();
  fetch_blocks<N>(arguments, entries, n, tiles);
  wait_for_entries();
  __syncwarp();

  C* const block = tiles + lane * Policy::stride;
  ThreadSetup<C, N> setup{n, reinterpret_cast<unsigned*>(own + Policy::tile_bytes) + lane};
  const bool served = setup.run(block);
  const bool accepted = served && setup.rcond >= detail::singular_threshold<Real>(n);
  Outcome<Real> outcome{accepted ? 0 : detail::info_ill_conditioned(n), setup.rcond};
  if (accepted) setup.store(block);
  __syncwarp();
  // The others one by one, by the whole warp.
  const typename Policy::Scratch scratch(own + Policy::tile_bytes + Policy::scale_bytes);
  const unsigned careful_ones = __ballot_sync(full_warp, exists && !served);
  for (unsigned left = __ballot_sync(full_warp, exists && !accepted); left != 0; left &= left - 1) {
    const int t = __ffs(static_cast<int>(left)) - 1;
    const int order = __shfl_sync(full_warp, n, t);
    C* const other = tiles + t * Policy::stride;
    if ((careful_ones >> t & 1u) == 0) {
      replace_block<N>(other, order, arguments.fallback, Team<32>::current());
      continue;
    }
    const CarefulSetup<C, N, 32> careful{other, order, Team<32>::current(), scratch};
    const Outcome<Real> found = careful.run(arguments.fallback);
    if (lane == t) outcome = found;
  }
  __syncwarp();

  const auto group = Policy::Group::current();
#pragma unroll 2
  for (int t = group.number; t < 32; t += Policy::Group::per_warp) {
    const int order = __shfl_sync(full_warp, n, t);
    C* const inverse = arguments.inverse + __shfl_sync(full_warp, slot.start, t);
    if (first + t < range.count)
      copy_block(tiles + t * Policy::stride, inverse, order * order, group.rank, Policy::Group::lanes);
  }
  if (exists) store_outcome(arguments, slot, outcome);
}

/// By the kernels of order N: all blocks have it (`exactly`), or none a larger one.
template <int N, bool exactly, class C>
void launch_setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const auto launch = [&](auto* kernel, int threads, int blocks, int bytes) {
    allow_shared_memory(kernel, static_cast<std::size_t>(bytes));
    kernel<<<grid_for(range.count, blocks, "setup"), static_cast<unsigned>(threads), static_cast<std::size_t>(bytes),
             stream>>>(arguments, range);
    check_launch("setup");
  };
  if constexpr (N <= largest_setup_by_thread) {
    using Policy = ThreadSetupPolicy<N, C>;
    launch(setup_thread_kernel<N, exactly, C>, Policy::threads, Policy::threads, Policy::shared_bytes);
  } else {
    using Policy = TeamSetup<N, C>;
    launch(setup_team_kernel<N, exactly, C>, Policy::threads, Policy::blocks, Policy::shared_bytes);
  }
}

template <class C>
void setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const auto launch = [&]<int N>() {
    constexpr bool alone = setup_alone(words_of<C>, detail::Arithmetic<C>::is_complex, N);
    if constexpr (alone) {
      if (range.smallest == N && range.largest == N) return launch_setup_tiny<N, true>(arguments, range, stream), true;
    }
    if constexpr (N % 4 == 0) {
      if (tiny_class(range.largest) == N) return launch_setup_tiny<N, false>(arguments, range, stream), true;
    }
    return false;
  };
  [&]<int... I>(std::integer_sequence<int, I...>) { static_cast<void>((launch.template operator()<I + 1>() || ...)); }
  (std::make_integer_sequence<int, largest_tiny_order>{});
}

}  // namespace blockjacobi::kernels
