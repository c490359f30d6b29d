#pragma once

#include "kernels/inverse/policy.hpp"
#include "kernels/inverse/team_careful.cuh"
#include "kernels/inverse/team_rows.cuh"
#include "kernels/launch/tiny_batch.cuh"

namespace blockjacobi::kernels {

/// Of teams with the rows of matrices up to order N.
template <int N, class C>
inline constexpr InversePolicy inverse_team = inverse_class_policy(compiled_device, scalar_of<C>, N);

/// Teams of a thread block.
template <int N, class C>
inline constexpr int inverse_teams = Team<inverse_team<N, C>.lanes>::per_warp* inverse_team<N, C>.warps;

template <int N, class C>
using InverseScratch = TeamScratch<C, N, inverse_team<N, C>.lanes>;

/// Inverts one matrix a team, to scratch.tile, where the matrix itself may be. Returns info.
template <int N, class C, class MatrixA>
__device__ int invert_by_team(const MatrixA& a, const InverseScratch<N, C>& scratch) {
  constexpr int L = inverse_team<N, C>.lanes, R = inverse_team<N, C>.rows;
  using Real = detail::arithmetic_real_t<C>;
  using Field = ExponentField<Real>;
  using Tile = TeamTile<C, N>;
  const auto team = Team<L>::current();

  RowTile<C, N, L, R> rows;
  rows.load(a, team.rank);
  // What largest() overlooks, the elimination takes for growth or passes on to the bound.
  const int field = static_cast<int>(rows.largest() >> Field::shift);
  const bool scalable = (field > 1 && field < 2 * Field::bias - 1) || a.n == 0;
  const Real power = power_from_field(Real(), scalable && a.n > 0 ? 2 * Field::bias - 1 - field : Field::bias);
  rows.scale(power);
  rows.embed(a, team.rank);
  RowInverse<C, N, L, R> elimination(rows, team.rank);
  const bool regular = elimination.run(scratch.pivots) && scalable;
  const bool finite = static_cast<int>(rows.bound() >> Field::shift) < Field::top;  // by all lanes
  const bool served = team.spare() || (finite && regular);
  Team<L>::sync();

  int info = 0;
  if (served) elimination.store(scratch.tile, scratch.pivots, a.n, [power](int) { return power; });
  if (Team<L>::any_in_warp(!served)) {
    if (!served && a.data != scratch.tile) Tile::template fetch<L>(scratch.tile, a, team.rank);
    Team<L>::sync();
    info = CarefulInverse<C, N, L>{scratch.tile, served ? 0 : static_cast<int>(a.n), team, scratch.pivots}.run();
    if (info != 0)
      for (int e = team.rank; e < a.n * a.n; e += L) scratch.tile[e] = quiet_nan<C>();
  }
  Team<L>::sync();
  return info;
}

template <int N, class C>
__global__ void __launch_bounds__(32 * inverse_team<N, C>.warps, inverse_team<N, C>.per_multiprocessor)
    inverse_team_kernel(const ContiguousBatch<const C, N> a, const ContiguousBatch<C, N> x, int* info) {
  constexpr int lanes = inverse_team<N, C>.lanes;
  using Tiles = WarpTiles<C, N, lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const int number = team.number_in_cta();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * inverse_teams<N, C> + number, first = k - team.number;
  if (first >= a.count) return;                   // whole warps leave; no barrier of the thread block follows
  const int shift = Tiles::shift(a[first].data);  // that of x too
  const InverseScratch<N, C> scratch(shared, number, shift);
  const bool exists = k < a.count && !team.spare();
  int outcome;
  if constexpr (Tiles::pays) {
    const auto count = static_cast<int>(min(a.count - first, offset_t{Tiles::matrices}));
    const InverseScratch<N, C> scratch_of_first(shared, number - team.number, shift);
    Tiles::fetch(scratch_of_first, a[first].data, count);
    outcome = invert_by_team<N, C>(ContiguousMatrix<const C, N>{scratch.tile}, scratch);
    Tiles::store(scratch_of_first, x[first].data, count);
  } else {
    // Teams past the end take the last matrix too, as all teams of a warp work together.
    const offset_t member = exists ? k : a.count - 1;
    outcome = invert_by_team<N, C>(a[member], scratch);
    if (exists) TeamTile<C, N>::template store<lanes>(scratch.tile, x[member], team.rank);
  }
  if (exists && team.rank == 0) info[k] = outcome;
}

/// Orders of one class, from anywhere.
template <int N, class C>
__global__ void __launch_bounds__(32 * inverse_team<N, C>.warps, inverse_team<N, C>.per_multiprocessor)
    inverse_class_kernel(const StridedBatch<const C> a, const StridedBatch<C> x, int* info) {
  constexpr int lanes = inverse_team<N, C>.lanes;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_chunk;
  collect_class<N>(a.view, first, list);
  const auto team = Team<lanes>::current();
  const int number = team.number_in_cta();
  const InverseScratch<N, C> scratch(shared, number);
  for (int base = number - team.number; base < list.size; base += inverse_teams<N, C>) {
    const bool exists = base + team.number < list.size && !team.spare();
    const offset_t k = first + (exists ? list.member[base + team.number] : 0);
    const auto source = exists ? a[k] : StridedMatrix<const C>{};
    const int outcome = invert_by_team<N, C>(source, scratch);
    if (exists) {
      TeamTile<C, N>::template store<lanes>(scratch.tile, x.like(k, source.n), team.rank);
      if (team.rank == 0) info[k] = outcome;
    }
    Team<lanes>::sync();  // the tile is used again
  }
}

}  // namespace blockjacobi::kernels
