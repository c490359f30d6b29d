#pragma once

#include "kernels/launch/tiny_batch.cuh"
#include "kernels/setup/policy.hpp"
#include "kernels/setup/store_outcome.cuh"
#include "kernels/setup/team_rows.cuh"
#include "kernels/setup/tiny_block.cuh"
#include "kernels/slots.hpp"

namespace blockjacobi::kernels {

/// For orders up to N.
template <int N, class C>
inline constexpr SetupPolicy setup_shape = setup_policy(compiled_device, scalar_of<C>, N);

/// Extract, equilibrate, invert and store by teams: a block each, of order up to N, or `exactly` N. The block visits
/// global memory only as the entries of the matrix and as its inverse.
template <int N, class C>
struct TeamSetup {
  using Scratch = SetupScratch<detail::arithmetic_real_t<C>, N>;
  static constexpr int L = setup_shape<N, C>.lanes, R = setup_shape<N, C>.rows;
  static constexpr int threads = 32 * setup_shape<N, C>.warps;
  static constexpr int blocks = threads / L;  ///< a thread block
  /// Between blocks: the accesses of a team to neighbouring elements go to other banks than those of the next team.
  static constexpr int banks = 128;
  static constexpr int tile_bytes = (setup_tile<N> * static_cast<int>(sizeof(C)) + banks - 1) / banks * banks +
                                    L * static_cast<int>(sizeof(C)) % banks;
  static constexpr int shared_bytes = blocks * (tile_bytes + Scratch::bytes);
  static constexpr int in_flight = 16;  ///< words of the map a lane
};

template <int N, bool exactly, class C>
__global__ void __launch_bounds__(TeamSetup<N, C>::threads, setup_shape<N, C>.per_multiprocessor)
    setup_team_kernel(const SetupArguments<C> arguments, const SlotRange range) {
  using Setup = TeamSetup<N, C>;
  using Real = detail::arithmetic_real_t<C>;
  constexpr int L = Setup::L, R = Setup::R;
  extern __shared__ __align__(16) unsigned char shared[];

  const auto team = Team<L>::current();
  const int number = static_cast<int>(threadIdx.x) / L;
  const offset_t member = static_cast<offset_t>(blockIdx.x) * Setup::blocks + number;
  // Teams past the end take the last block too, as all teams of a warp work together.
  const bool exists = member < range.count;
  const offset_t s = range.first + (exists ? member : range.count - 1);
  const BlockSlot slot = arguments.slots[s];
  const int n = exactly ? N : slot.size;
  // Where the memory of the team is goes through a broadcast, as the compiler would find the addresses anew in the loop
  // of the elimination and before every access instead of keeping them. It does not see that they are multiples of 16
  // bytes then. With the order as a number it adds to an offset in fewer instructions than to an address; above 12 that
  // costs registers of which thread blocks are short.
  const auto kept = [&](int offset) {
    if constexpr (exactly) {
      const auto address = static_cast<unsigned>(__cvta_generic_to_shared(shared + offset));
      return static_cast<unsigned char*>(__cvta_shared_to_generic(Team<L>::broadcast(address, 0) & ~15u));
    } else {
      return shared +
             (N <= 12 ? Team<L>::broadcast(static_cast<unsigned>(offset), 0) & ~15u : static_cast<unsigned>(offset));
    }
  };
  static_assert(Setup::tile_bytes % 16 == 0 && Setup::Scratch::bytes % 16 == 0);
  C* const block = reinterpret_cast<C*>(kept(number * Setup::tile_bytes));
  const typename Setup::Scratch scratch(kept(Setup::blocks * Setup::tile_bytes + number * Setup::Scratch::bytes));

  const MapRange entries = range_of(arguments.map, s);
  if (!is_full(arguments.map, entries, n)) {
    for (int e = team.rank; e < n * (n | 1); e += L) block[e] = C{};
  }
  Team<L>::sync();
  fetch_entries<Setup::in_flight, L>(arguments.values, arguments.map, entries, n, team.rank, block, n | 1);
  wait_for_copies();
  Team<L>::sync();

  RowTile<C, N, L, R> tile;
  RowInverse<C, N, L, R> elimination(tile, team.rank);
  RowSetup<C, N, L, R> setup{n, team.rank, scratch, tile, elimination};
  const bool served = setup.run(block);
  const bool accepted = served && setup.rcond >= detail::singular_threshold<Real>(n);
  Team<L>::sync();  // the block has been read
  if (served) setup.store(block);
  Team<L>::sync();
  if (!exists) return;
  copy_block(block, arguments.inverse + slot.start, n * n, team.rank, L);
  if (team.rank != 0) return;
  if (accepted)
    store_outcome(arguments, slot, {0, setup.rcond});
  else
    leave_undecided(arguments, slot, s, served, setup.rcond);
}

}  // namespace blockjacobi::kernels
