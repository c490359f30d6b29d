#pragma once

#include "kernels/cholesky/policy.hpp"
#include "kernels/cholesky/warp.cuh"
#include "kernels/launch/tiny_batch.cuh"

#include <algorithm>

namespace blockjacobi::kernels {

/// How warps share matrices up to order N.
template <int N, class C>
inline constexpr CholeskyPolicy cholesky_warp = cholesky_class_policy(compiled_device, scalar_of<C>, N);

/// The factorization by a warp, and its shared memory.
template <int N, class C>
using WarpCholesky = TensorCholesky<C, N, cholesky_warp<N, C>.matrices>;
template <int N, class C>
inline constexpr std::size_t cholesky_warp_bytes = WarpCholesky<N, C>::scratch_doubles * sizeof(double);

/// Thread blocks that a multiprocessor holds, at most: the compiler warns of launch bounds that ask for more.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ > 800 && __CUDA_ARCH__ < 890
inline constexpr int most_ctas = 16;
#else
inline constexpr int most_ctas = 24;  // and 32 on some
#endif

/// Factorizes `count` matrices in one warp, matrix g at at(g) with its outcome in info[number(g)].
template <int N, class C, class At, class Number>
__device__ void factorize_by_warp(bool upper, At at, Number number, int count, int* info) {
  extern __shared__ __align__(16) double scratch[];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  WarpCholesky<N, C> cholesky(scratch + warp * WarpCholesky<N, C>::scratch_doubles);
  cholesky.load(upper, at);
  const int outcome = cholesky.factor();
  cholesky.store(upper, at, count);
  if (lane >= count) return;
  const auto own = at(lane);
  int order = N;
  if constexpr (!is_contiguous<std::remove_const_t<decltype(own)>>) order = own.n;
  info[number(lane)] = outcome_within(order, outcome);
}

template <int N, class C>
__global__ void __launch_bounds__(32, std::min(cholesky_warp<N, C>.warps_held, most_ctas))
    potrf_warp_kernel(const ContiguousBatch<C, N> a, bool upper, int* info) {
  constexpr int matrices = cholesky_warp<N, C>.matrices;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * matrices;
  const int count = static_cast<int>(min(static_cast<offset_t>(matrices), a.count - first));
  // Past the end the last matrix is computed again.
  factorize_by_warp<N, C>(
      upper, [&](int g) { return a[first + min(g, count - 1)]; }, [&](int g) { return first + g; }, count, info);
}

/// Orders of one class, from anywhere.
template <int N, class C>
__global__ void __launch_bounds__(32 * cholesky_class_warps, cholesky_warp<N, C>.warps_held / cholesky_class_warps)
    potrf_class_kernel(const StridedBatch<C> a, bool upper, int* info) {
  constexpr int matrices = cholesky_warp<N, C>.matrices;
  __shared__ ClassList list;
  const offset_t first = static_cast<offset_t>(blockIdx.x) * class_chunk;
  collect_class<N>(a.view, first, list);
  for (int base = static_cast<int>(threadIdx.x) / 32 * matrices; base < list.size;
       base += cholesky_class_warps * matrices) {
    const auto number = [&](int g) { return first + list.member[base + g]; };
    factorize_by_warp<N, C>(
        upper, [&](int g) { return base + g < list.size ? a[number(g)] : StridedMatrix<C>{}; }, number,
        min(matrices, list.size - base), info);
    __syncwarp();  // the scratch is used again
  }
}

}  // namespace blockjacobi::kernels
