#pragma once

#include "core/shared/bundles.hpp"
#include "kernels/collectives/grid_sum_wide.cuh"

namespace blockjacobi::kernels {

/// GridSum of K numbers for each column of a bundle in thread blocks of `threads`, of which lane l of every warp has
/// column l % bundle_width.
template <int K, int threads>
struct ColumnsGridSum {
  static constexpr int width = static_cast<int>(detail::bundle_width);
  static constexpr int totals = K * width;
  using Wide = WideGridSum<totals, threads>;
  using Scratch = typename Wide::Scratch;

  /// Over the thread blocks `cta` of `ctas`, with partial sums and a ticket of their own; thread k width + c of the one
  /// that arrives last gets total k of column c. Otherwise as GridSum::run().
  __device__ static bool run(double (&sums)[K], double& total, unsigned cta, unsigned ctas, double* partials,
                             unsigned int* ticket, Scratch& scratch) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int k = 0; k < K; ++k) {
#pragma unroll
      for (int distance = width; distance < 32; distance *= 2) sums[k] += __shfl_xor_sync(~0u, sums[k], distance);
      if (lane < width) scratch.partial[warp][k * width + lane] = sums[k];
    }
    return Wide::finish(total, cta, ctas, partials, ticket, scratch);
  }
};

}  // namespace blockjacobi::kernels
