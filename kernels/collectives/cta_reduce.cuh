#pragma once

#include "kernels/collectives/lanes.cuh"

namespace blockjacobi::kernels {

inline constexpr int max_warps_per_cta = 32;

/// Shared memory of cta_reduce() for K values at once.
template <int K, class V>
struct ReduceScratch {
  V partial[K][max_warps_per_cta];
};

/// Combines each of the K values over the thread block (one-dimensional, whole warps); the result stands in every
/// thread. The order depends on the block's shape alone. `scratch` may be used again at once.
template <int K, class V, class Combine>
__device__ void cta_reduce(V (&values)[K], ReduceScratch<K, V>& scratch, Combine combine) {
  const auto lanes = Lanes<32>::current();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warps = static_cast<int>(blockDim.x) / 32;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    const V sum = lanes.reduce(values[k], combine);
    if (lanes.rank == 0) scratch.partial[k][warp] = sum;
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < K; ++k) {
    V sum = scratch.partial[k][0];
    for (int w = 1; w < warps; ++w) sum = combine(sum, scratch.partial[k][w]);
    values[k] = sum;
  }
  __syncthreads();
}

/// The same for one value.
template <class V, class Combine>
__device__ V cta_reduce(V value, ReduceScratch<1, V>& scratch, Combine combine) {
  V values[1] = {value};
  cta_reduce(values, scratch, combine);
  return values[0];
}

}  // namespace blockjacobi::kernels
