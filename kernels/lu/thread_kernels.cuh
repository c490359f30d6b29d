#pragma once

#include "kernels/collectives/thread_stage.cuh"
#include "kernels/collectives/warp_stage.cuh"
#include "kernels/launch/tiny_batch.cuh"
#include "kernels/lu/policy.hpp"
#include "kernels/lu/thread.cuh"

namespace blockjacobi::kernels {

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
    getrf_straight_kernel(const ContiguousBatch<C, N> a, index_t* ipiv, int* info) {
  using Stage = ThreadStage<C, N, straight_threads>;
  ThreadTile<C, N> tile[straight_matrices(N)];
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
__global__ void __launch_bounds__(shuffled_threads)
    getrf_shuffled_kernel(const ContiguousBatch<C, N> a, index_t* ipiv, int* info) {
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
__global__ void __launch_bounds__(thread_design_threads, thread_design_per_multiprocessor(scalar_of<C>, N))
    getrf_thread_kernel(const ContiguousBatch<C, N> a, index_t* ipiv, int* info) {
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

}  // namespace blockjacobi::kernels
