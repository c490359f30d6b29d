#pragma once

#include "kernels/launch/tiny_batch.cuh"
#include "kernels/lu/policy.hpp"
#include "kernels/lu/team_careful.cuh"
#include "kernels/lu/team_panels.cuh"
#include "kernels/lu/team_rows.cuh"

namespace blockjacobi::kernels {

/// Of teams with the rows of matrices up to order N.
template <int N, class C>
inline constexpr LuPolicy lu_team = lu_class_policy(compiled_device, scalar_of<C>, N);

/// Teams of a thread block.
template <int N, class C>
inline constexpr int lu_teams = Team<lu_team<N, C>.lanes>::per_warp* lu_team<N, C>.warps;

template <int N, class C>
using LuScratch = TeamScratch<C, N, lu_team<N, C>.lanes>;

/// Factorizes one matrix a team, in scratch.tile, where the matrix itself may be. Returns info.
template <int N, class C, class Matrix>
__device__ int factorize_by_team(const Matrix& a, const LuScratch<N, C>& scratch) {
  constexpr int L = lu_team<N, C>.lanes, R = lu_team<N, C>.rows;
  constexpr RowOrder order = LuScratch<N, C>::rows;
  const auto team = Team<L>::current();
  RowTile<C, N, L, R, order> rows;
  rows.load(a, team.rank);
  rows.embed(a, team.rank);
  PivotRange range;
  RowLu<C, N, N, L, R, lu_phase(N), order> factorization(rows.x, team.rank, range);
  factorization.run(scratch.pivots);
  const bool served = team.spare() || range.served<C>();
  Team<L>::sync();
  int outcome = 0;
  if (served) factorization.store(scratch.tile, a.n, a.n);
  if (Team<L>::any_in_warp(!served)) {
    if (!served && a.data != scratch.tile) TeamTile<C, N>::template fetch<L>(scratch.tile, a, team.rank);
    Team<L>::sync();
    outcome = CarefulLu<C, N, L>{scratch.tile, served ? 0 : static_cast<int>(a.n), team, scratch.pivots}.run();
  }
  Team<L>::sync();
  return outcome;
}

/// What belongs to the factors in scratch.tile.
template <int N, class C>
__device__ void store_interchanges(const LuScratch<N, C>& scratch, int n, index_t* ipiv) {
  constexpr int L = lu_team<N, C>.lanes;
  for (int k = Team<L>::current().rank; k < n; k += L) ipiv[k] = scratch.pivots[k] + 1;
}

template <int N, class C>
__global__ void __launch_bounds__(32 * lu_team<N, C>.warps, lu_team<N, C>.per_multiprocessor)
    getrf_team_kernel(const ContiguousBatch<C, N> a, index_t* ipiv, int* info) {
  constexpr int lanes = lu_team<N, C>.lanes;
  using Tiles = WarpTiles<C, N, lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const int number = team.number_in_cta();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * lu_teams<N, C> + number, first = k - team.number;
  if (first >= a.count) return;  // whole warps leave; no barrier of the thread block follows
  const int shift = Tiles::shift(a[first].data);
  const LuScratch<N, C> scratch(shared, number, shift);
  const bool exists = k < a.count && !team.spare();
  int outcome;
  if constexpr (Tiles::pays) {
    const auto count = static_cast<int>(min(a.count - first, offset_t{Tiles::matrices}));
    const LuScratch<N, C> scratch_of_first(shared, number - team.number, shift);
    Tiles::fetch(scratch_of_first, a[first].data, count);
    outcome = factorize_by_team<N, C>(ContiguousMatrix<C, N>{scratch.tile}, scratch);
    Tiles::store(scratch_of_first, a[first].data, count);
  } else {
    // Teams past the end take the last matrix too, as all teams of a warp work together.
    const offset_t member = exists ? k : a.count - 1;
    outcome = factorize_by_team<N, C>(a[member], scratch);
    if (exists) TeamTile<C, N>::template store<lanes>(scratch.tile, a[member], team.rank);
  }
  if (!exists) return;
  store_interchanges<N, C>(scratch, N, ipiv + k * N);
  if (team.rank == 0) info[k] = outcome;
}

/// A warp a thread block: the matrices stay in shared memory.
template <int N, int lanes, class C>
__global__ void __launch_bounds__(32, lu_policy(compiled_device, scalar_of<C>, N).per_multiprocessor)
    getrf_paneled_kernel(const ContiguousBatch<C, N> a, index_t* ipiv, int* info) {
  using Tile = PaneledTile<C, N, lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * Team<lanes>::per_warp + team.number;
  const bool exists = k < a.count;
  // Teams past the end take the last matrix too, as all teams of a warp work together.
  const auto matrix = a[exists ? k : a.count - 1];
  const Tile tile(shared, team.number);
  tile.fetch(matrix.data, team.rank);
  Tile::wait();

  const bool served = PaneledLu<C, N, lanes, lu_panel_phase>(tile, team.rank).run();
  Team<lanes>::sync();
  int outcome = 0;
  if (Team<lanes>::any_in_warp(!served)) {
    if (!served) TeamTile<C, N>::template fetch<lanes>(tile.a, matrix, team.rank);
    Team<lanes>::sync();
    outcome = CarefulLu<C, N, lanes>{tile.a, served ? 0 : N, team, tile.pivots}.run();
    Team<lanes>::sync();
  }
  if (!exists) return;
  tile.store(matrix.data, team.rank, served ? Tile::ld : N);
  for (int i = team.rank; i < N; i += lanes) ipiv[k * N + i] = tile.pivots[i] + 1;
  if (team.rank == 0) info[k] = outcome;
}

/// Orders of one class, from anywhere.
template <int N, class C>
__global__ void __launch_bounds__(32 * lu_team<N, C>.warps, lu_team<N, C>.per_multiprocessor)
    getrf_class_kernel(const StridedBatch<C> a, index_t* ipiv, int* info) {
  constexpr int lanes = lu_team<N, C>.lanes;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_chunk;
  collect_class<N>(a.view, first, list);
  const auto team = Team<lanes>::current();
  const int number = team.number_in_cta();
  const LuScratch<N, C> scratch(shared, number);
  for (int base = number - team.number; base < list.size; base += lu_teams<N, C>) {
    const bool exists = base + team.number < list.size && !team.spare();
    const offset_t k = first + (exists ? list.member[base + team.number] : 0);
    const auto matrix = exists ? a[k] : StridedMatrix<C>{};
    const int outcome = factorize_by_team<N, C>(matrix, scratch);
    if (exists) {
      TeamTile<C, N>::template store<lanes>(scratch.tile, matrix, team.rank);
      store_interchanges<N, C>(scratch, matrix.n, ipiv + k * a.view.rows);
      if (team.rank == 0) info[k] = outcome;
    }
    Team<lanes>::sync();  // the tile is used again
  }
}

}  // namespace blockjacobi::kernels
