#pragma once

#include "kernels/global/blocked.hpp"
#include "kernels/global/tile_batch.cuh"
#include "kernels/subwarp/careful_qr.cuh"
#include "kernels/subwarp/grid_qr.cuh"
#include "kernels/subwarp/thread_qr.cuh"
#include "kernels/subwarp/thread_tile.cuh"
#include "kernels/subwarp/tile_qr.cuh"
#include "kernels/tuning/qr.hpp"

namespace blockjacobi::kernels {

template <int N, class C>
inline constexpr QrPolicy qr_policy = qr_team(words_of<C>, detail::Arithmetic<C>::is_complex, N);

template <int N, class C>
using QrGrid = LaneGrid<qr_policy<N, C>.rows, qr_policy<N, C>.columns>;

/// Teams of a thread block.
template <int N, class C>
inline constexpr int qr_teams = qr_policy<N, C>.warps * 32 / QrGrid<N, C>::lanes;

/// Shared memory of a thread block: the tiles of all teams, then their tau.
template <int N, class C>
struct QrScratch {
  using Tile = GridTile<C, N, QrGrid<N, C>>;
  static constexpr std::size_t bytes = static_cast<std::size_t>(qr_teams<N, C>) * (Tile::stride + N) * sizeof(C);
  C* tile;
  C* tau;

  __device__ QrScratch(unsigned char* shared, int team)
      : tile(reinterpret_cast<C*>(shared) + team * Tile::stride),
        tau(reinterpret_cast<C*>(shared) + qr_teams<N, C> * Tile::stride + team * N) {}
};

/// Factorizes one matrix a team in place; nothing is written where it does not `exist`.
template <int N, class C, class Matrix>
__device__ void factorize_qr_by_team(const Matrix& a, C* tau, bool exists, const QrScratch<N, C>& scratch) {
  using Grid = QrGrid<N, C>;
  using Tile = GridTile<C, N, Grid>;
  using Lanes = Team<Grid::lanes>;
  const auto lane = Grid::current();
  Tile::fetch(scratch.tile, a, lane.rank());
  Tile::wait();
  GridQr<C, N, Grid, qr_policy<N, C>.phase> factorization(lane);
  factorization.load(scratch.tile, a.n);
  const bool served = factorization.run(scratch.tau);
  Lanes::sync();
  if (served) factorization.store(scratch.tile, a.n);
  if (Lanes::any_in_warp(!served))
    CarefulQr<C, N, Grid::lanes>{scratch.tile, served ? 0 : static_cast<int>(a.n), Tile::ld, scratch.tau,
                                 Lanes::current()}
        .run();
  Lanes::sync();
  if (!exists) return;
  Tile::store(scratch.tile, a, lane.rank());
  for (int k = lane.rank(); k < a.n; k += Grid::lanes) tau[k] = scratch.tau[k];
}

template <int N, class C>
__global__ void __launch_bounds__(32 * qr_policy<N, C>.warps, 1) geqrf_team_kernel(const PackedBatch<C, N> a, C* tau) {
  extern __shared__ __align__(16) unsigned char shared[];
  const auto team = Team<QrGrid<N, C>::lanes>::current();
  const int number = team.number_in_block();
  const offset_t k = static_cast<offset_t>(blockIdx.x) * qr_teams<N, C> + number;
  if (k - team.number >= a.count) return;  // whole warps leave; no barrier of the thread block follows
  // Teams past the end take the last matrix too, as all teams of a warp work together.
  const bool exists = k < a.count;
  const offset_t member = exists ? k : a.count - 1;
  factorize_qr_by_team<N>(a[member], tau + member * N, exists, QrScratch<N, C>(shared, number));
}

/// Orders of one class, from anywhere.
template <int N, class C>
__global__ void __launch_bounds__(32 * qr_policy<N, C>.warps, 1) geqrf_class_kernel(const StridedBatch<C> a, C* tau) {
  using Lanes = Team<QrGrid<N, C>::lanes>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_tile;
  collect_class<N>(a.view, first, list);
  const auto team = Lanes::current();
  const int number = static_cast<int>(threadIdx.x) / Lanes::lanes;
  for (int base = number - team.number; base < list.size; base += qr_teams<N, C>) {
    const bool exists = base + team.number < list.size;
    const offset_t k = first + (exists ? list.member[base + team.number] : 0);
    factorize_qr_by_team<N>(exists ? a[k] : StridedMatrix<C>{}, tau + k * a.view.rows, exists,
                            QrScratch<N, C>(shared, number));
    Lanes::sync();  // the tile is used again
  }
}

/// Shared memory of a thread block in which each thread has a matrix: the matrices, then their tau.
template <int N, class C>
struct QrThreadScratch {
  static constexpr int threads = qr_threads(N);
  using Stage = ThreadStage<C, N, threads>;
  static constexpr int tau_stride = N | 1;
  static constexpr std::size_t bytes = Stage::shared_bytes + sizeof(C) * threads * tau_stride;
};

template <int N, class C>
__global__ void __launch_bounds__(QrThreadScratch<N, C>::threads, 1)
    geqrf_thread_kernel(const PackedBatch<C, N> a, C* tau) {
  constexpr int threads = QrThreadScratch<N, C>::threads, stride = QrThreadScratch<N, C>::tau_stride;
  using Stage = ThreadStage<C, N, threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  C* const staged = reinterpret_cast<C*>(shared + Stage::shared_bytes);
  const int rank = static_cast<int>(threadIdx.x);
  const offset_t first = static_cast<offset_t>(blockIdx.x) * threads;
  const int count = static_cast<int>(min(static_cast<offset_t>(threads), a.count - first));
  Stage::fetch(shared, a[first].data, count);

  C* const own = Stage::own(shared);
  C* const own_tau = staged + rank * stride;
  ThreadQr<C, N> factorization;
  Stage::load(own, factorization.x);
  const bool served = factorization.run(own_tau) || rank >= count;
  if (served) factorization.store(own);
  if (Team<1>::any_in_warp(!served)) CarefulQr<C, N, 1>{own, served ? 0 : N, N, own_tau, Team<1>::current()}.run();

  Stage::flush(shared, a[first].data, count);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    const int t = i * threads + rank;
    if (t < count * N) tau[first * N + t] = staged[t / N * stride + t % N];
  }
}

template <int N, class C>
void launch_geqrf_packed(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  const PackedBatch<C, N> batch{a.data, a.count};
  if constexpr (qr_by_thread(words_of<C>, detail::Arithmetic<C>::is_complex, N)) {
    constexpr std::size_t bytes = QrThreadScratch<N, C>::bytes;
    constexpr int threads = QrThreadScratch<N, C>::threads;
    auto* kernel = geqrf_thread_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, threads, "geqrf"), threads, bytes, stream>>>(batch, tau);
  } else {
    constexpr std::size_t bytes = QrScratch<N, C>::bytes;
    auto* kernel = geqrf_team_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, qr_teams<N, C>, "geqrf"), 32 * qr_policy<N, C>.warps, bytes, stream>>>(batch, tau);
  }
  check_launch("geqrf");
}

template <int N, class C>
void launch_geqrf_class(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  constexpr std::size_t bytes = QrScratch<N, C>::bytes;
  auto* kernel = geqrf_class_kernel<N, C>;
  allow_shared_memory(kernel, bytes);
  kernel<<<grid_for(a.count, class_tile, "geqrf"), 32 * qr_policy<N, C>.warps, bytes, stream>>>(StridedBatch<C>{a},
                                                                                                tau);
  check_launch("geqrf");
}

/// Rectangles: one column a lane.
template <class C>
struct RectangularQr {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<C> a;
  C* tau;

  __device__ __host__ const MatrixBatchView<C>& batch() const { return a; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<C>& matrix, const TileScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.cols);
    tile.load(as_const(matrix));
    const C own_tau = TileQr<W, C>(tile).factor();
    tile.store(matrix);
    if (tile.lanes.rank < min(matrix.rows, matrix.cols)) tau[k * min(a.rows, a.cols) + tile.lanes.rank] = own_tau;
  }
};

template <class C>
void geqrf(const MatrixBatchView<C>& a, C* tau, CUstream_st* stream) {
  if (a.rows == 0 || a.cols == 0) return;
  const bool blocked = std::max(a.rows, a.cols) > largest_tiny_order;
  if (blocked) geqrf_blocked(a, tau, stream);
  if (blocked && a.orders == nullptr) return;
  if (a.rows != a.cols)
    launch_tiles(RectangularQr<C>{a, tau}, "geqrf", stream);
  else if (is_packed_batch(a))
    with_order(a.rows, [&]<int N>() { launch_geqrf_packed<N>(a, tau, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_geqrf_class<N>(a, tau, stream); });
}

}  // namespace blockjacobi::kernels
