#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

__device__ inline float across(float v, int mask) { return __shfl_xor_sync(~0u, v, mask); }
__device__ inline double across(double v, int mask) { return __shfl_xor_sync(~0u, v, mask); }
template <class R>
__device__ detail::Complex<R> across(detail::Complex<R> v, int mask) {
  return {across(v.re, mask), across(v.im, mask)};
}

/// Sums up s over `lanes` lanes of a warp that are `distance` apart, both powers of two. Lane v of them is left with
/// the elements v n / lanes, .. of the sum, the first of them in s[0]. The whole warp calls this.
template <int lanes, int n, class C>
__device__ void sum_and_deal_out(C (&s)[n], int v, int distance = 1) {
  int count = n;
#pragma unroll
  for (int half = lanes / 2; half > 0; half /= 2) {
    count /= 2;
    const bool upper = (v & half) != 0;
#pragma unroll
    for (int i = 0; i < n / 2; ++i) {
      if (i >= count) break;
      const C kept = upper ? s[i + count] : s[i], given = upper ? s[i] : s[i + count];
      s[i] = kept + across(given, half * distance);
    }
  }
}

}  // namespace blockjacobi::kernels
