#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Adds the halves of 2 `half` values between lanes that differ in that bit: each lane goes on with one half.
template <int half, int K>
__device__ void exchange_halves(double (&values)[K]) {
  const bool upper = (threadIdx.x & half) != 0;
#pragma unroll
  for (int k = 0; k < half; ++k) {
    const double kept = upper ? values[k + half] : values[k];
    const double given = upper ? values[k] : values[k + half];
    values[k] = kept + __shfl_xor_sync(~0u, given, half);
  }
  if constexpr (half > 1) exchange_halves<half / 2>(values);
}

/// Totals of `values` over the warp, K a power of two up to 32: lane l gets that of values[l % K].
template <int K>
__device__ double warp_totals(double (&values)[K]) {
  static_assert(K > 1 && K <= 32 && (K & (K - 1)) == 0);
  exchange_halves<K / 2>(values);
  double total = values[0];
#pragma unroll
  for (int distance = K; distance < 32; distance *= 2) total += __shfl_xor_sync(~0u, total, distance);
  return total;
}

/// GridSum for many sums in thread blocks of `threads`: thread k < K of the block that arrives last gets total k.
template <int K, int threads>
struct WideGridSum {
  static constexpr int warps = threads / 32;
  static constexpr int shares = threads / K;
  struct Scratch {
    double partial[warps > shares ? warps : shares][K];
    bool is_last;
  };

  /// `partials` has K gridDim.x elements; otherwise as GridSum::run().
  __device__ static bool run(double (&sums)[K], double& total, double* partials, unsigned int* ticket,
                             Scratch& scratch) {
    const int thread = static_cast<int>(threadIdx.x);
    const double in_warp = warp_totals(sums);
    if (thread % 32 < K) scratch.partial[thread / 32][thread % 32] = in_warp;
    return finish(total, blockIdx.x, gridDim.x, partials, ticket, scratch);
  }

  /// The same from the sums of the warps in scratch.partial, over the thread blocks `cta` of `ctas`.
  __device__ static bool finish(double& total, unsigned cta, unsigned ctas, double* partials, unsigned int* ticket,
                                Scratch& scratch) {
    const int thread = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (thread < K) {
      double sum = 0.0;
#pragma unroll
      for (int w = 0; w < warps; ++w) sum += scratch.partial[w][thread];
      partials[static_cast<offset_t>(cta) * K + thread] = sum;
      __threadfence();  // the partial sums before the ticket
    }
    __syncthreads();
    if (thread == 0) scratch.is_last = atomicAdd(ticket, 1u) == ctas - 1;
    __syncthreads();
    if (!scratch.is_last) return false;
    __threadfence();  // the ticket before the others' partial sums
    double share = 0.0;
    if (thread < shares * K) {
#pragma unroll 4
      for (unsigned b = static_cast<unsigned>(thread / K); b < ctas; b += shares)
        share += __ldcg(partials + static_cast<offset_t>(b) * K + thread % K);
      scratch.partial[thread / K][thread % K] = share;
    }
    __syncthreads();
    total = 0.0;
    if (thread < K)
#pragma unroll
      for (int s = 0; s < shares; ++s) total += scratch.partial[s][thread];
    if (thread == 0) *ticket = 0;
    return true;
  }
};

}  // namespace blockjacobi::kernels
