#pragma once

#include "kernels/global/blocked.hpp"
#include "kernels/global/tiny_batch.cuh"
#include "kernels/subwarp/tensor_cholesky.cuh"
#include "kernels/subwarp/thread_cholesky.cuh"
#include "kernels/tuning/potrf.hpp"

namespace blockjacobi::kernels {

template <int N, class C>
inline constexpr WarpPolicy potrf_policy = potrf_by_warp(words_of<C>, detail::Arithmetic<C>::is_complex, N);

template <int N>
inline constexpr int potrf_threads_of = potrf_threads(N);

/// Warps of a thread block that looks through class_tile matrices.
inline constexpr int potrf_class_warps = 4;

/// The factorization by a warp, and its shared memory.
template <int N, class C>
using PotrfWarp = TensorCholesky<C, N, potrf_policy<N, C>.matrices>;
template <int N, class C>
inline constexpr std::size_t potrf_warp_bytes = PotrfWarp<N, C>::scratch_doubles * sizeof(double);

/// Factorizes `count` matrices in one warp, matrix g at at(g) with its outcome in info[number(g)].
template <int N, class C, class At, class Number>
__device__ void factorize_by_warp(bool upper, At at, Number number, int count, int* info) {
  extern __shared__ __align__(16) double scratch[];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  PotrfWarp<N, C> cholesky(scratch + warp * PotrfWarp<N, C>::scratch_doubles);
  cholesky.load(upper, at);
  const int outcome = cholesky.factor();
  cholesky.store(upper, at, count);
  if (lane < count) info[number(lane)] = outcome;
}

template <int N, class C>
__global__ void __launch_bounds__(32, potrf_policy<N, C>.warps)
    potrf_warp_kernel(const PackedBatch<C, N> a, bool upper, int* info) {
  constexpr int matrices = potrf_policy<N, C>.matrices;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * matrices;
  const int count = static_cast<int>(min(static_cast<offset_t>(matrices), a.count - first));
  // Past the end the last matrix is computed again.
  factorize_by_warp<N, C>(
      upper, [&](int g) { return a[first + min(g, count - 1)]; }, [&](int g) { return first + g; }, count, info);
}

/// Orders of one class, from anywhere.
template <int N, class C>
__global__ void __launch_bounds__(32 * potrf_class_warps, potrf_policy<N, C>.warps / potrf_class_warps)
    potrf_class_kernel(const StridedBatch<C> a, bool upper, int* info) {
  constexpr int matrices = potrf_policy<N, C>.matrices;
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_tile;
  collect_class<N>(a.view, first, list);
  for (int base = static_cast<int>(threadIdx.x) / 32 * matrices; base < list.size;
       base += potrf_class_warps * matrices) {
    const auto number = [&](int g) { return first + list.member[base + g]; };
    factorize_by_warp<N, C>(
        upper, [&](int g) { return base + g < list.size ? a[number(g)] : StridedMatrix<C>{}; }, number,
        min(matrices, list.size - base), info);
    __syncwarp();  // the scratch is used again
  }
}

template <int N, class C>
__global__ void __launch_bounds__(potrf_threads_of<N>)
    potrf_thread_kernel(const PackedBatch<C, N> a, bool upper, int* info) {
  constexpr int threads = potrf_threads_of<N>;
  using Stage = TriangleStage<C, N, threads>;
  extern __shared__ __align__(16) unsigned char shared[];
  const offset_t first = static_cast<offset_t>(blockIdx.x) * threads;
  const int count = static_cast<int>(min(static_cast<offset_t>(threads), a.count - first));
  Stage::fetch(shared, a[first].data, count, upper);
  C* const own = Stage::own(shared);
  ThreadCholesky<C, N> cholesky;
  cholesky.template load<Stage>(own, upper);
  const int outcome = cholesky.factor();
  cholesky.template store<Stage>(own, upper);
  Stage::flush(shared, a[first].data, count, upper);
  if (static_cast<int>(threadIdx.x) < count) info[first + threadIdx.x] = outcome;
}

template <int N, class C>
void launch_potrf_packed(bool upper, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  const PackedBatch<C, N> batch{a.data, a.count};
  if constexpr (potrf_by_thread(words_of<C>, detail::Arithmetic<C>::is_complex, N)) {
    constexpr int threads = potrf_threads_of<N>;
    constexpr std::size_t bytes = TriangleStage<C, N, threads>::shared_bytes;
    auto* kernel = potrf_thread_kernel<N, C>;
    allow_shared_memory(kernel, bytes);
    kernel<<<grid_for(a.count, threads, "potrf"), threads, bytes, stream>>>(batch, upper, info);
  } else {
    potrf_warp_kernel<N, C>
        <<<grid_for(a.count, potrf_policy<N, C>.matrices, "potrf"), 32, potrf_warp_bytes<N, C>, stream>>>(batch, upper,
                                                                                                          info);
  }
  check_launch("potrf");
}

template <int N, class C>
void launch_potrf_class(bool upper, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  constexpr std::size_t bytes = potrf_class_warps * potrf_warp_bytes<N, C>;
  potrf_class_kernel<N, C><<<grid_for(a.count, class_tile, "potrf"), 32 * potrf_class_warps, bytes, stream>>>(
      StridedBatch<C>{a}, upper, info);
  check_launch("potrf");
}

template <class C>
void potrf(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  const bool upper = triangle == batched::Triangle::upper;
  if (is_packed_batch(a))
    with_order(a.rows, [&]<int N>() { launch_potrf_packed<N>(upper, a, info, stream); });
  else
    for_each_class_of(a, [&]<int N>() { launch_potrf_class<N>(upper, a, info, stream); });
  if (a.rows > largest_tiny_order) potrf_blocked(triangle, a, info, stream);
}

}  // namespace blockjacobi::kernels
