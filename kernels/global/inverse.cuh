#pragma once

#include "kernels/global/blocked.hpp"
#include "kernels/global/tiny_batch.cuh"
#include "kernels/subwarp/block_inverse.cuh"
#include "kernels/subwarp/careful_inverse.cuh"
#include "kernels/subwarp/row_inverse.cuh"
#include "kernels/subwarp/thread_tile.cuh"
#include "kernels/subwarp/warp_stage.cuh"

namespace blockjacobi::kernels {

/// Teams of a thread block.
template <int N, class C>
inline constexpr int inverse_teams = Team<inverse_policy<N, C>.lanes>::per_warp* inverse_policy<N, C>.warps;

template <int N, class C>
using InverseScratch = TeamScratch<C, N, inverse_policy<N, C>.lanes>;

/// Inverts one matrix a team, to scratch.tile, where the matrix itself may be. Returns info.
template <int N, class C, class MatrixA>
__device__ int invert_by_team(const MatrixA& a, const InverseScratch<N, C>& scratch) {
  constexpr int L = inverse_policy<N, C>.lanes, R = inverse_policy<N, C>.rows;
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
__global__ void __launch_bounds__(32 * inverse_policy<N, C>.warps, inverse_policy<N, C>.resident)
    inverse_team_kernel(const PackedBatch<const C, N> a, const PackedBatch<C, N> x, int* info) {
  constexpr int lanes = inverse_policy<N, C>.lanes;
  using Tiles = WarpTiles<C, N, lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const int number = team.number_in_block();
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
    outcome = invert_by_team<N, C>(PackedMatrix<const C, N>{scratch.tile}, scratch);
    Tiles::store(scratch_of_first, x[first].data, count);
  } else {
    // Teams past the end take the last matrix too, as all teams of a warp work together.
    const offset_t member = exists ? k : a.count - 1;
    outcome = invert_by_team<N, C>(a[member], scratch);
    if (exists) TeamTile<C, N>::template store<lanes>(scratch.tile, x[member], team.rank);
  }
  if (exists && team.rank == 0) info[k] = outcome;
}

/// A warp a thread block: the matrices stay in shared memory.
template <int N, class C>
__global__ void __launch_bounds__(32, 1)
    inverse_block_kernel(const PackedBatch<const C, N> a, const PackedBatch<C, N> x, int* info) {
  using Inverse = BlockInverse<C, N>;
  using Tile = typename Inverse::Tile;
  constexpr int lanes = Inverse::lanes;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * Team<lanes>::per_warp + team.number;
  const bool exists = k < a.count;
  // Teams past the end take the last matrix too, as all teams of a warp work together.
  const offset_t member = exists ? k : a.count - 1;
  const Tile tile(shared, team.number);
  tile.fetch(a[member].data, team.rank);
  Tile::wait();

  Inverse inverse(shared, team);
  const bool served = inverse.run();
  Team<lanes>::sync();
  int outcome = 0;
  if (Team<lanes>::any_in_warp(!served)) {
    if (!served) TeamTile<C, N>::template fetch<lanes>(tile.a, a[member], team.rank);
    Team<lanes>::sync();
    outcome = CarefulInverse<C, N, lanes>{tile.a, served ? 0 : N, team, tile.pivots}.run();
    if (outcome != 0)
      for (int e = team.rank; e < N * N; e += lanes) tile.a[e] = quiet_nan<C>();
    Team<lanes>::sync();
  }
  if (!exists) return;
  if (served)
    tile.store_columns(x[member].data, team.rank, inverse.power());
  else
    tile.store(x[member].data, team.rank, N);
  if (team.rank == 0) info[k] = outcome;
}

/// Orders of one class, from anywhere.
template <int N, class C>
__global__ void __launch_bounds__(32 * inverse_policy<N, C>.warps, inverse_policy<N, C>.resident)
    inverse_class_kernel(const StridedBatch<const C> a, const StridedBatch<C> x, int* info) {
  constexpr int lanes = inverse_policy<N, C>.lanes;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_tile;
  collect_class<N>(a.view, first, list);
  const auto team = Team<lanes>::current();
  const int number = team.number_in_block();
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

/// The inverse of one matrix in its thread, its columns in place by selection; NaN if there is none. Returns info.
template <int N, class C>
__device__ int invert_in_thread(ThreadTile<C, N>& tile, C (&inverse)[N][N]) {
  int order[N];
  const int info = tile.invert(order);
#pragma unroll
  for (int i = 0; i < N; ++i)
#pragma unroll
    for (int j = 0; j < N; ++j) {
      C element = quiet_nan<C>();
#pragma unroll
      for (int from = 0; from < N; ++from)
        if (info == 0 && order[from] == j) element = tile.x[i][from];
      inverse[i][j] = element;
    }
  return info;
}

template <int N, class C>
__global__ void __launch_bounds__(straight_threads)
    inverse_straight_kernel(const PackedBatch<const C, N> a, const PackedBatch<C, N> x, int* info) {
  using Stage = ThreadStage<C, N, straight_threads>;
  ThreadTile<C, N> tile[straight_matrices<N>];
  for_each_straight<N>(a.count, [&](int m, offset_t k) { Stage::load(a[k].data, tile[m].x); });
  for_each_straight<N>(a.count, [&](int m, offset_t k) {
    C inverse[N][N];
    info[k] = invert_in_thread(tile[m], inverse);
    Stage::store(inverse, x[k].data);
  });
}

/// A matrix a lane, through shuffles.
template <int N, class C>
__global__ void __launch_bounds__(warp_design_threads)
    inverse_warp_kernel(const PackedBatch<const C, N> a, const PackedBatch<C, N> x, int* info) {
  using Stage = WarpStage<C, N>;
  const auto share = WarpShare::of(a.count);
  if (share.count <= 0) return;
  Stage stage;
  stage.fetch(a[share.first].data, share.count);
  ThreadTile<C, N> tile;
  stage.load(tile.x);
  C inverse[N][N];
  const int outcome = invert_in_thread(tile, inverse);
  if (Stage::own() < share.count) info[share.first + Stage::own()] = outcome;
  stage.store(inverse);
  stage.flush(x[share.first].data, share.count);
}

template <int N, class C>
__global__ void __launch_bounds__(thread_design_threads, thread_design_blocks<N, C>)
    inverse_thread_kernel(const PackedBatch<const C, N> a, const PackedBatch<C, N> x, int* info) {
  using Stage = ThreadStage<C, N, thread_design_threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t first = static_cast<offset_t>(blockIdx.x) * thread_design_threads;
  const int count = static_cast<int>(min(static_cast<offset_t>(thread_design_threads), a.count - first));
  Stage::fetch(shared, a[first].data, count);

  ThreadTile<C, N> tile;
  int order[N];
  C* own = Stage::own(shared);
  Stage::load(own, tile.x);
  const int outcome = tile.invert(order);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int i = 0; i < N; ++i) own[order[j] * N + i] = outcome == 0 ? tile.x[i][j] : quiet_nan<C>();

  Stage::flush(shared, x[first].data, count);
  if (static_cast<int>(threadIdx.x) < count) info[first + threadIdx.x] = outcome;
}

template <int N, class C>
void launch_inverse_packed(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                           CUstream_st* stream) {
  const PackedBatch<const C, N> source{a.data, a.count};
  const PackedBatch<C, N> target{x.data, x.count};
  constexpr bool complex = detail::Arithmetic<C>::is_complex;
  if constexpr (inverse_straight(words_of<C>, N)) {
    inverse_straight_kernel<N, C>
        <<<grid_for(a.count, straight_tile<N>, "inverse"), straight_threads, 0, stream>>>(source, target, info);
  } else if constexpr (by_warp(words_of<C>, N)) {
    inverse_warp_kernel<N, C>
        <<<grid_for(a.count, warp_design_threads, "inverse"), warp_design_threads, 0, stream>>>(source, target, info);
  } else if constexpr (inverse_by_thread(words_of<C>, complex, N)) {
    constexpr std::size_t bytes = ThreadStage<C, N, thread_design_threads>::shared_bytes;
    auto* kernel = inverse_thread_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, thread_design_threads, "inverse"), thread_design_threads, bytes, stream>>>(source,
                                                                                                          target, info);
  } else if constexpr (inverse_by_blocks(words_of<C>, complex, N)) {
    using Inverse = BlockInverse<C, N>;
    constexpr int teams = Team<Inverse::lanes>::per_warp;
    constexpr std::size_t bytes = static_cast<std::size_t>(teams) * Inverse::Tile::bytes;
    auto* kernel = inverse_block_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, teams, "inverse"), 32, bytes, stream>>>(source, target, info);
  } else {
    constexpr std::size_t bytes = static_cast<std::size_t>(inverse_teams<N, C>) * InverseScratch<N, C>::bytes;
    auto* kernel = inverse_team_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, inverse_teams<N, C>, "inverse"), 32 * inverse_policy<N, C>.warps, bytes, stream>>>(
        source, target, info);
  }
  check_launch("inverse");
}

template <int N, class C>
void launch_inverse_class(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info,
                          CUstream_st* stream) {
  constexpr std::size_t bytes = static_cast<std::size_t>(inverse_teams<N, C>) * InverseScratch<N, C>::bytes;
  auto* kernel = inverse_class_kernel<N, C>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(a.count, class_tile, "inverse"), 32 * inverse_policy<N, C>.warps, bytes, stream>>>(
      StridedBatch<const C>{a}, StridedBatch<C>{x}, info);
  check_launch("inverse");
}

template <class C>
void inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, int* info, CUstream_st* stream) {
  if (is_packed_batch(a) && is_packed_batch(x))
    with_order(a.rows, [&]<int N>() { launch_inverse_packed<N>(a, x, info, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_inverse_class<N>(a, x, info, stream); });
  if (a.rows > largest_tiny_order) inverse_blocked(a, x, info, stream);
}

}  // namespace blockjacobi::kernels
