#pragma once

#include "kernels/cholesky/thread.cuh"
#include "kernels/collectives/thread_stage.cuh"
#include "kernels/collectives/warp_stage.cuh"
#include "kernels/inverse/policy.hpp"
#include "kernels/inverse/thread_definite.cuh"
#include "kernels/launch/tiny_batch.cuh"
#include "kernels/lu/thread.cuh"

namespace blockjacobi::kernels {

/// How a thread inverts its matrix: the inverse, or NaN if there is none. Returns info.
struct GeneralInversion {
  /// Columns come in their places by selection.
  template <int N, class C>
  __device__ int operator()(ThreadTile<C, N>& tile, C (&inverse)[N][N]) const {
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
};
struct DefiniteInversion {
  bool upper;
  template <int N, class C>
  __device__ int operator()(const ThreadTile<C, N>& tile, C (&inverse)[N][N]) const {
    DefiniteTile<C, N> triangle;
    triangle.load(tile.x, upper);
    const int info = triangle.invert();
    triangle.store(inverse);
    return info;
  }
};

template <int N, class C, class Inversion>
__global__ void __launch_bounds__(straight_threads)
    inverse_straight_kernel(const ContiguousBatch<const C, N> a, const ContiguousBatch<C, N> x, int* info,
                            Inversion invert) {
  using Stage = ThreadStage<C, N, straight_threads>;
  ThreadTile<C, N> tile[straight_matrices(N)];
  for_each_straight<N>(a.count, [&](int m, offset_t k) { Stage::load(a[k].data, tile[m].x); });
  for_each_straight<N>(a.count, [&](int m, offset_t k) {
    C inverse[N][N];
    info[k] = invert(tile[m], inverse);
    Stage::store(inverse, x[k].data);
  });
}

/// A matrix a lane, through shuffles.
template <int N, class C, class Inversion>
__global__ void __launch_bounds__(shuffled_threads)
    inverse_shuffled_kernel(const ContiguousBatch<const C, N> a, const ContiguousBatch<C, N> x, int* info,
                            Inversion invert) {
  using Stage = WarpStage<C, N>;
  const auto share = WarpShare::of(a.count);
  if (share.count <= 0) return;
  Stage stage;
  stage.fetch(a[share.first].data, share.count);
  ThreadTile<C, N> tile;
  stage.load(tile.x);
  C inverse[N][N];
  const int outcome = invert(tile, inverse);
  if (Stage::own() < share.count) info[share.first + Stage::own()] = outcome;
  stage.store(inverse);
  stage.flush(x[share.first].data, share.count);
}

template <int N, class C>
__global__ void __launch_bounds__(thread_design_threads, thread_design_per_multiprocessor(scalar_of<C>, N))
    inverse_thread_kernel(const ContiguousBatch<const C, N> a, const ContiguousBatch<C, N> x, int* info) {
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
__global__ void __launch_bounds__(thread_design_threads, thread_design_per_multiprocessor(scalar_of<C>, N))
    spd_inverse_thread_kernel(const ContiguousBatch<const C, N> a, const ContiguousBatch<C, N> x, int* info,
                              bool upper) {
  constexpr int threads = thread_design_threads;
  using Given = TriangleStage<C, N, threads>;
  using Stage = ThreadStage<C, N, threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t first = static_cast<offset_t>(blockIdx.x) * threads;
  const int count = static_cast<int>(min(static_cast<offset_t>(threads), a.count - first));
  Given::fetch(shared, a[first].data, count, upper);

  DefiniteTile<C, N> triangle;
  C* const own = Stage::own(shared);
  const auto load = [&](bool from_upper) {
    C all[N][N];
    Stage::load(own, all);
    triangle.load(all, from_upper);
  };
  // Apart, so that the compiler leaves out the other half.
  if (upper)
    load(true);
  else
    load(false);
  const int outcome = triangle.invert();
  C all[N][N];
  triangle.store(all);
  Stage::store(all, own);
  Stage::flush(shared, x[first].data, count);
  if (static_cast<int>(threadIdx.x) < count) info[first + threadIdx.x] = outcome;
}

}  // namespace blockjacobi::kernels
