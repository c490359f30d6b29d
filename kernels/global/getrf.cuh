#pragma once

#include "kernels/global/blocked.hpp"
#include "kernels/global/tiny_batch.cuh"
#include "kernels/subwarp/block_lu.cuh"
#include "kernels/subwarp/careful_lu.cuh"
#include "kernels/subwarp/row_lu.cuh"
#include "kernels/subwarp/thread_tile.cuh"
#include "kernels/subwarp/warp_stage.cuh"

namespace blockjacobi::kernels {

/// Teams of a thread block.
template <int N, class C>
inline constexpr int lu_teams = Team<lu_policy<N, C>.lanes>::per_warp* lu_policy<N, C>.warps;

template <int N, class C>
using LuScratch = TeamScratch<C, N, lu_policy<N, C>.lanes>;

/// Factorizes one matrix a team, in scratch.tile, where the matrix itself may be. Returns info.
template <int N, class C, class Matrix>
__device__ int factorize_by_team(const Matrix& a, const LuScratch<N, C>& scratch) {
  constexpr int L = lu_policy<N, C>.lanes, R = lu_policy<N, C>.rows;
  constexpr RowOrder order = LuScratch<N, C>::rows;
  const auto team = Team<L>::current();
  RowTile<C, N, L, R, order> rows;
  rows.load(a, team.rank);
  rows.embed(a, team.rank);
  PivotRange range;
  RowLu<C, N, N, L, R, lu_phase_columns<N>, order> factorization(rows.x, team.rank, range);
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
  constexpr int L = lu_policy<N, C>.lanes;
  for (int k = Team<L>::current().rank; k < n; k += L) ipiv[k] = scratch.pivots[k] + 1;
}

template <int N, class C>
__global__ void __launch_bounds__(32 * lu_policy<N, C>.warps, lu_policy<N, C>.resident)
    getrf_team_kernel(const PackedBatch<C, N> a, index_t* ipiv, int* info) {
  constexpr int lanes = lu_policy<N, C>.lanes;
  using Tiles = WarpTiles<C, N, lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const int number = team.number_in_block();
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
    outcome = factorize_by_team<N, C>(PackedMatrix<C, N>{scratch.tile}, scratch);
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
__global__ void __launch_bounds__(32, block_lu_resident(words_of<C>, detail::Arithmetic<C>::is_complex, N))
    getrf_block_kernel(const PackedBatch<C, N> a, index_t* ipiv, int* info) {
  using Tile = BlockTile<C, N, lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<lanes>::current();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * Team<lanes>::per_warp + team.number;
  const bool exists = k < a.count;
  // Teams past the end take the last matrix too, as all teams of a warp work together.
  const auto matrix = a[exists ? k : a.count - 1];
  const Tile tile(shared, team.number);
  tile.fetch(matrix.data, team.rank);
  Tile::wait();

  const bool served = BlockLu<C, N, lanes, block_lu_phase>(tile, team.rank).run();
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
__global__ void __launch_bounds__(32 * lu_policy<N, C>.warps, lu_policy<N, C>.resident)
    getrf_class_kernel(const StridedBatch<C> a, index_t* ipiv, int* info) {
  constexpr int lanes = lu_policy<N, C>.lanes;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_tile;
  collect_class<N>(a.view, first, list);
  const auto team = Team<lanes>::current();
  const int number = team.number_in_block();
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

/// The interchanges of one matrix from one thread, in accesses as wide as their alignment allows.
template <int N>
__device__ void store_interchanges(const int (&interchange)[N], index_t* ipiv) {
  constexpr int width = N % 4 == 0 ? 4 : N % 2 == 0 ? 2 : 1;
  struct alignas(width * sizeof(index_t)) Part {
    index_t value[width];
  };
  const bool aligned = reinterpret_cast<std::uintptr_t>(ipiv) % sizeof(Part) == 0;
#pragma unroll
  for (int k = 0; k < N; k += width) {
    Part part;
#pragma unroll
    for (int i = 0; i < width; ++i) part.value[i] = interchange[k + i] + 1;
    if (aligned) {
      *reinterpret_cast<Part*>(ipiv + k) = part;
    } else {
#pragma unroll
      for (int i = 0; i < width; ++i) ipiv[k + i] = part.value[i];
    }
  }
}

template <int N, class C>
__global__ void __launch_bounds__(straight_threads)
    getrf_straight_kernel(const PackedBatch<C, N> a, index_t* ipiv, int* info) {
  using Stage = ThreadStage<C, N, straight_threads>;
  ThreadTile<C, N> tile[straight_matrices<N>];
  for_each_straight<N>(a.count, [&](int m, offset_t k) { Stage::load(a[k].data, tile[m].x); });
  for_each_straight<N>(a.count, [&](int m, offset_t k) {
    int interchange[N];
    info[k] = tile[m].factorize(interchange);
    if constexpr (N > 1) Stage::store(tile[m].x, a[k].data);  // of order 1: the matrix itself
    store_interchanges(interchange, ipiv + k * N);
  });
}

/// A matrix a lane, through shuffles.
template <int N, class C>
__global__ void __launch_bounds__(warp_design_threads)
    getrf_warp_kernel(const PackedBatch<C, N> a, index_t* ipiv, int* info) {
  using Stage = WarpStage<C, N>;
  const auto share = WarpShare::of(a.count);
  if (share.count <= 0) return;
  Stage stage;
  stage.fetch(a[share.first].data, share.count);
  ThreadTile<C, N> tile;
  stage.load(tile.x);
  int interchange[N];
  const int outcome = tile.factorize(interchange);
  if (Stage::own() < share.count) {
    const offset_t k = share.first + Stage::own();
    store_interchanges(interchange, ipiv + k * N);
    info[k] = outcome;
  }
  stage.store(tile.x);
  stage.flush(a[share.first].data, share.count);
}

template <int N, class C>
__global__ void __launch_bounds__(thread_design_threads, thread_design_blocks<N, C>)
    getrf_thread_kernel(const PackedBatch<C, N> a, index_t* ipiv, int* info) {
  constexpr int threads = thread_design_threads;
  using Stage = ThreadStage<C, N, threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t first = static_cast<offset_t>(blockIdx.x) * threads;
  const int count = static_cast<int>(min(static_cast<offset_t>(threads), a.count - first));
  Stage::fetch(shared, a[first].data, count);

  ThreadTile<C, N> tile;
  int interchange[N];
  C* own = Stage::own(shared);
  Stage::load(own, tile.x);
  const int outcome = tile.factorize(interchange);
#pragma unroll
  for (int j = 0; j < N; ++j)
#pragma unroll
    for (int i = 0; i < N; ++i) own[j * N + i] = tile.x[i][j];
  Stage::flush(shared, a[first].data, count);

  if constexpr (N % 2 == 0) {
    if (static_cast<int>(threadIdx.x) < count) store_interchanges(interchange, ipiv + (first + threadIdx.x) * N);
  } else {
    // The interchanges go the same way.
    auto* staged = reinterpret_cast<index_t*>(shared);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < N; ++k) staged[static_cast<int>(threadIdx.x) * N + k] = interchange[k] + 1;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const int t = i * threads + static_cast<int>(threadIdx.x);
      if (t < count * N) ipiv[first * N + t] = staged[t];
    }
  }
  if (static_cast<int>(threadIdx.x) < count) info[first + threadIdx.x] = outcome;
}

template <int N, class C>
void launch_getrf_packed(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  const PackedBatch<C, N> batch{a.data, a.count};
  constexpr bool complex = detail::Arithmetic<C>::is_complex;
  if constexpr (lu_straight(words_of<C>, N)) {
    getrf_straight_kernel<N, C>
        <<<grid_for(a.count, straight_tile<N>, "getrf"), straight_threads, 0, stream>>>(batch, ipiv, info);
  } else if constexpr (by_warp(words_of<C>, N)) {
    getrf_warp_kernel<N, C>
        <<<grid_for(a.count, warp_design_threads, "getrf"), warp_design_threads, 0, stream>>>(batch, ipiv, info);
  } else if constexpr (lu_by_thread(words_of<C>, complex, N)) {
    constexpr std::size_t interchanges = static_cast<std::size_t>(thread_design_threads) * N * sizeof(index_t);
    constexpr std::size_t bytes = std::max(ThreadStage<C, N, thread_design_threads>::shared_bytes, interchanges);
    auto* kernel = getrf_thread_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, thread_design_threads, "getrf"), thread_design_threads, bytes, stream>>>(batch, ipiv,
                                                                                                        info);
  } else if constexpr (lu_by_blocks(words_of<C>, complex, N) > 0) {
    constexpr int lanes = lu_by_blocks(words_of<C>, complex, N), teams = Team<lanes>::per_warp;
    constexpr std::size_t bytes = static_cast<std::size_t>(teams) * BlockTile<C, N, lanes>::bytes;
    auto* kernel = getrf_block_kernel<N, lanes, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, teams, "getrf"), 32, bytes, stream>>>(batch, ipiv, info);
  } else {
    constexpr std::size_t bytes = static_cast<std::size_t>(lu_teams<N, C>) * LuScratch<N, C>::bytes;
    auto* kernel = getrf_team_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, lu_teams<N, C>, "getrf"), 32 * lu_policy<N, C>.warps, bytes, stream>>>(batch, ipiv,
                                                                                                      info);
  }
  check_launch("getrf");
}

template <int N, class C>
void launch_getrf_class(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  constexpr std::size_t bytes = static_cast<std::size_t>(lu_teams<N, C>) * LuScratch<N, C>::bytes;
  auto* kernel = getrf_class_kernel<N, C>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(a.count, class_tile, "getrf"), 32 * lu_policy<N, C>.warps, bytes, stream>>>(StridedBatch<C>{a},
                                                                                                ipiv, info);
  check_launch("getrf");
}

template <class C>
void getrf(const MatrixBatchView<C>& a, index_t* ipiv, int* info, CUstream_st* stream) {
  if (is_packed_batch(a))
    with_order(a.rows, [&]<int N>() { launch_getrf_packed<N>(a, ipiv, info, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_getrf_class<N>(a, ipiv, info, stream); });
  if (a.rows > largest_tiny_order) getrf_blocked(a, ipiv, info, stream);
}

}  // namespace blockjacobi::kernels
