#pragma once

#include "kernels/inverse/policy.hpp"
#include "kernels/inverse/team_definite.cuh"
#include "kernels/launch/tiny_batch.cuh"

namespace blockjacobi::kernels {

/// Of teams with the rows of definite matrices of order N.
template <int N, class C>
inline constexpr InversePolicy spd_team = spd_inverse_policy(compiled_device, scalar_of<C>, N);

/// Teams of a thread block.
template <int N, class C>
inline constexpr int spd_teams = Team<spd_team<N, C>.lanes>::per_warp* spd_team<N, C>.warps;

template <int N, class C>
using SpdRows = DefiniteRows<C, N, spd_team<N, C>.lanes, spd_team<N, C>.rows>;
template <int N, class C>
using SpdScratch = TeamScratch<C, N, spd_team<N, C>.lanes, SpdRows<N, C>::ld>;

template <int N, class C>
__global__ void __launch_bounds__(32 * spd_team<N, C>.warps, spd_team<N, C>.per_multiprocessor)
    spd_inverse_team_kernel(const ContiguousBatch<const C, N> a, const ContiguousBatch<C, N> x, int* info, bool upper) {
  constexpr int lanes = spd_team<N, C>.lanes;
  using Tiles = WarpTiles<C, N, lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const int number = team.number_in_cta();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * spd_teams<N, C> + number, first = k - team.number;
  if (first >= a.count) return;                   // whole warps leave; no barrier of the thread block follows
  const int shift = Tiles::shift(a[first].data);  // that of x too
  const SpdScratch<N, C> scratch(shared, number, shift);
  SpdRows<N, C> rows(scratch.tile, team.rank);
  const bool exists = k < a.count && !team.spare();
  int outcome;
  if constexpr (Tiles::pays && SpdRows<N, C>::ld == N) {
    const auto count = static_cast<int>(min(a.count - first, offset_t{Tiles::matrices}));
    const SpdScratch<N, C> scratch_of_first(shared, number - team.number, shift);
    Tiles::fetch(scratch_of_first, a[first].data, count);
    rows.load(ContiguousMatrix<C, N>{scratch.tile}, upper);
    outcome = rows.invert(N);
    rows.store(ContiguousMatrix<C, N>{scratch.tile});
    Tiles::store(scratch_of_first, x[first].data, count);
  } else {
    // Teams past the end take the last matrix too, as all teams of a warp work together.
    const offset_t member = exists ? k : a.count - 1;
    rows.load(a[member], upper);
    outcome = rows.invert(N);
    if (exists) rows.store(x[member]);
  }
  if (exists && team.rank == 0) info[k] = outcome;
}

}  // namespace blockjacobi::kernels
