#pragma once

#include "kernels/subwarp/team.cuh"

namespace blockjacobi::kernels {

/// Sums of K values, a power of two up to 32, over groups of K neighbouring lanes with K - 1 shuffles: lane l ends with
/// the sum of value l % K.
template <int K, class C>
__device__ C lane_sums(C (&value)[K]) {
  static_assert(K >= 1 && K <= 32 && (K & (K - 1)) == 0);
  if constexpr (K == 1) {
    return value[0];
  } else {
    constexpr int half = K / 2;
    const bool upper = (static_cast<int>(threadIdx.x) & half) != 0;
    C remaining[half];
#pragma unroll
    for (int i = 0; i < half; ++i) {
      const C kept = upper ? value[i + half] : value[i], given = upper ? value[i] : value[i + half];
      remaining[i] = kept + Team<32>::exchange(given, half);
    }
    return lane_sums(remaining);
  }
}

/// The same over the whole warp: lanes of the same number modulo K end with the same.
template <int K, class C>
__device__ C warp_sums(C (&value)[K]) {
  C sum = lane_sums(value);
#pragma unroll
  for (int distance = K; distance < 32; distance *= 2) sum = sum + Team<32>::exchange(sum, distance);
  return sum;
}

}  // namespace blockjacobi::kernels
