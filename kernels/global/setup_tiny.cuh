#pragma once

#include "kernels/check.hpp"
#include "kernels/global/setup.cuh"
#include "kernels/global/tiny_batch.cuh"
#include "kernels/subwarp/extract.cuh"
#include "kernels/subwarp/row_setup.cuh"
#include "kernels/subwarp/thread_setup.cuh"
#include "kernels/tuning/setup.hpp"

#include <bit>

namespace blockjacobi::kernels {

/// Whether every element of the block has an entry; for a map with duplicates the answer is no.
__device__ inline bool is_full(const detail::PositionMapView& map, const MapRange& entries, int n) {
  return !map.duplicates && entries.end - entries.slot.begin == n * n;
}

/// Elements of a block of order N whose leading dimension is odd.
template <int N>
inline constexpr int setup_tile = N*(N | 1);

/// How a warp brings its blocks, of order up to N, to shared memory and takes their inverses back.
template <int N, int blocks>
struct WarpTransfer {
  static constexpr int lanes = N > 4 ? 32 : 16;  ///< for one block
  static constexpr int side_by_side = 32 / lanes;
  static constexpr int words = (N * N + lanes - 1) / lanes;  ///< of the map, a lane and block
  static constexpr int chunk = std::min(words, 16);
  /// Blocks under way, a power of two as their number.
  static constexpr int at_once =
      static_cast<int>(std::bit_floor(std::clamp(16u / words, 1u, unsigned{blocks / side_by_side})));

  /// The value that the lanes of block t have.
  template <class V>
  __device__ static V of_block(V value, int t) {
    return __shfl_sync(full_warp, value, t * (32 / blocks));
  }

  /// Starts to bring block t to tiles + t stride, with leading dimension n | 1; wait_for_entries() and a barrier must
  /// follow. `entries` and `n` are those of the block of this lane.
  template <class C>
  __device__ static void fetch(const SetupArguments<C>& arguments, const MapRange& entries, int n, C* tiles,
                               int stride) {
    const auto group = Team<lanes>::current();
    if (arguments.map.narrow == nullptr || arguments.map.duplicates) {
#pragma unroll 1
      for (int t = group.number; t < blocks; t += side_by_side) {
        const MapRange range{{of_block(entries.slot.begin, t), of_block(entries.slot.first_source, t)},
                             of_block(entries.end, t)};
        fetch_entries<4>(arguments.values, arguments.map, range, group.rank, lanes, tiles + t * stride,
                         of_block(n, t) | 1);
      }
      return;
    }
    // The usual case: many words are under way at once.
#pragma unroll 1
    for (int first = group.number; first < blocks; first += at_once * side_by_side)
#pragma unroll 1
      for (int begin = 0; begin < words; begin += chunk) {
        std::uint32_t word[at_once][chunk];
        int count[at_once];
#pragma unroll
        for (int b = 0; b < at_once; ++b) {
          const int t = first + b * side_by_side;
          const std::uint32_t* const own = arguments.map.narrow + of_block(entries.slot.begin, t);
          count[b] = static_cast<int>(of_block(entries.end, t) - of_block(entries.slot.begin, t));
#pragma unroll
          for (int u = 0; u < chunk; ++u) {
            const int e = (begin + u) * lanes + group.rank;
            if (e < count[b]) word[b][u] = own[e];
          }
        }
#pragma unroll
        for (int b = 0; b < at_once; ++b) {
          const int t = first + b * side_by_side;
          const detail::MapSlot slot{0, of_block(entries.slot.first_source, t)};
          C* const tile = tiles + t * stride;
          const int ld = of_block(n, t) | 1;
#pragma unroll
          for (int u = 0; u < chunk; ++u) {
            if ((begin + u) * lanes + group.rank >= count[b]) continue;
            const detail::MapEntry entry = detail::map_entry(word[b][u], slot);
            __pipeline_memcpy_async(tile + entry.row + entry.column * ld, arguments.values + entry.source, sizeof(C));
          }
        }
      }
  }

  /// Copies the first `exist` blocks, packed at tiles + t stride, to `inverses` + start of each.
  template <class C>
  __device__ static void store(const C* tiles, int stride, int n, C* inverses, offset_t start, int exist) {
    const auto group = Team<lanes>::current();
#pragma unroll 1
    for (int t = group.number; t < blocks; t += side_by_side) {
      const int count = of_block(n * n, t);
      C* const out = inverses + of_block(start, t);
      if (t >= exist) continue;
#pragma unroll 8
      for (int e = group.rank; e < count; e += lanes) out[e] = tiles[t * stride + e];
    }
  }
};

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
  static constexpr int L = inverse_policy<N, C>.lanes, R = inverse_policy<N, C>.rows;
  static constexpr int threads = 32 * inverse_policy<N, C>.warps;
  static constexpr int blocks = threads / L;  ///< a thread block
  /// Between blocks: the accesses of a team to neighbouring elements go to other banks than those of the next team.
  static constexpr int banks = 128;
  static constexpr int tile_bytes = (setup_tile<N> * static_cast<int>(sizeof(C)) + banks - 1) / banks * banks +
                                    L * static_cast<int>(sizeof(C)) % banks;
  static constexpr int shared_bytes = blocks * (tile_bytes + Scratch::bytes);
  static constexpr int stride = tile_bytes / static_cast<int>(sizeof(C));
  using Transfer = WarpTransfer<N, 32 / L>;
  static constexpr int resident = setup_warps(words_of<C>, N) / inverse_policy<N, C>.warps;
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
  C* const tiles = block - team.number * Policy::stride;
  Policy::Transfer::fetch(arguments, entries, n, tiles, Policy::stride);
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
  const auto exist = static_cast<int>(min(range.count - (member - team.number), offset_t{32 / L}));
  Policy::Transfer::store(tiles, Policy::stride, n, arguments.inverse, slot.start, exist);
  if (exists && team.rank == 0) store_outcome(arguments, slot, outcome);
}

/// The same by threads: a warp extracts and stores 32 blocks, and every thread inverts one.
template <int N, class C>
struct ThreadSetupPolicy {
  using Real = detail::arithmetic_real_t<C>;
  using Scratch = SetupScratch<Real, N>;
  using Transfer = WarpTransfer<N, 32>;
  static constexpr int threads = thread_design_threads;
  static constexpr int stride = setup_tile<N> | 1;  ///< elements between blocks, odd against bank conflicts
  static constexpr int tile_bytes = (32 * stride * static_cast<int>(sizeof(C)) + 15) / 16 * 16;
  static constexpr int scale_bytes = 32 * 2 * N * static_cast<int>(sizeof(unsigned));
  static constexpr int warp_bytes = tile_bytes + scale_bytes + Scratch::bytes;
  static constexpr int shared_bytes = threads / 32 * warp_bytes;
};

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
  Policy::Transfer::fetch(arguments, entries, n, tiles, Policy::stride);
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

  const auto exist = static_cast<int>(min(range.count - first, offset_t{32}));
  Policy::Transfer::store(tiles, Policy::stride, n, arguments.inverse, slot.start, exist);
  if (exists) store_outcome(arguments, slot, outcome);
}

template <int N, class C>
void launch_setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const auto launch = [&](auto* kernel, int threads, int blocks, int bytes) {
    allow_shared_memory(kernel, static_cast<std::size_t>(bytes));
    kernel<<<grid_for(range.count, blocks, "setup"), static_cast<unsigned>(threads), static_cast<std::size_t>(bytes),
             stream>>>(arguments, range);
    check_launch("setup");
  };
  const bool exactly = range.smallest == N;
  if constexpr (N <= largest_setup_by_thread) {
    using Policy = ThreadSetupPolicy<N, C>;
    launch(exactly ? setup_thread_kernel<N, true, C> : setup_thread_kernel<N, false, C>, Policy::threads,
           Policy::threads, Policy::shared_bytes);
  } else {
    using Policy = TeamSetup<N, C>;
    launch(exactly ? setup_team_kernel<N, true, C> : setup_team_kernel<N, false, C>, Policy::threads, Policy::blocks,
           Policy::shared_bytes);
  }
}

template <class C>
void setup_tiny(const SetupArguments<C>& arguments, const SlotRange& range, CUstream_st* stream) {
  const auto try_class = [&]<int N>() {
    if (tiny_class(range.largest) == N) launch_setup_tiny<N>(arguments, range, stream);
  };
  [&]<int... I>(std::integer_sequence<int, I...>) { (try_class.template operator()<4 * I + 4>(), ...); }
  (std::make_integer_sequence<int, 8>{});
}

}  // namespace blockjacobi::kernels
