#pragma once

#include "kernels/collectives/load_once.cuh"

namespace blockjacobi::kernels {

__device__ inline float broadcast_within(float v, int source, int width) { return __shfl_sync(~0u, v, source, width); }
__device__ inline double broadcast_within(double v, int source, int width) {
  return __shfl_sync(~0u, v, source, width);
}
template <class R>
__device__ detail::Complex<R> broadcast_within(detail::Complex<R> v, int source, int width) {
  return {broadcast_within(v.re, source, width), broadcast_within(v.im, source, width)};
}

/// The elements of a block as they are computed with.
template <class C>
struct PlainElements {
  const C* data;
  __device__ C load(int e) const { return load_once(data + e); }
  __device__ C widened(C element) const { return element; }
  __device__ C scaled(C sum) const { return sum; }
};

/// Element `row` of X r for a column-major X of order n <= width, of which the group of `width` lanes of a warp has one
/// and each lane the element of r of its own rank. Lanes without a row pass row = -1 and r = 0. K columns are on the
/// way at once. The whole warp calls this; its groups may have different X.
template <int K, class Elements, class C>
__device__ C block_product(const Elements& x, int n, int row, C r, int width) {
  const int columns = static_cast<int>(__reduce_max_sync(~0u, static_cast<unsigned>(n)));
  C sum{};
  for (int first = 0; first < columns; first += K) {
    using Loaded = decltype(x.load(0));
    Loaded elements[K];
#pragma unroll
    for (int k = 0; k < K; ++k) elements[k] = row >= 0 && first + k < n ? x.load(row + (first + k) * n) : Loaded{};
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const C factor = broadcast_within(r, first + k, width);
      if (first + k < n) sum += x.widened(elements[k]) * factor;
    }
  }
  return x.scaled(sum);
}

}  // namespace blockjacobi::kernels
