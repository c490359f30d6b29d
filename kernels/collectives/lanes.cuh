#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

/// A group of W consecutive lanes of a warp, W a power of two, in a one-dimensional thread block. Its members run the
/// same code; groups of one warp may diverge from each other. Reductions give the result in every lane.
template <int W>
struct Lanes {
  static_assert(W >= 1 && W <= 32 && (W & (W - 1)) == 0);
  static constexpr int width = W;

  unsigned mask;
  int rank;

  __device__ static Lanes current() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int rank = lane % W;
    const unsigned members = W == 32 ? ~0u : (1u << W % 32) - 1u;
    return {members << (lane - rank), rank};
  }

  /// Orders shared memory accesses of the group.
  __device__ void sync() const { __syncwarp(mask); }

  /// The value of the lane with rank `source`, 0 <= source < W.
  __device__ int broadcast(int v, int source) const { return __shfl_sync(mask, v, source, W); }
  __device__ float broadcast(float v, int source) const { return __shfl_sync(mask, v, source, W); }
  __device__ double broadcast(double v, int source) const { return __shfl_sync(mask, v, source, W); }
  template <class R>
  __device__ detail::Complex<R> broadcast(detail::Complex<R> v, int source) const {
    return {broadcast(v.re, source), broadcast(v.im, source)};
  }

  /// combine must be associative and commutative on the values that occur, so that all lanes agree.
  template <class V, class Combine>
  __device__ V reduce(V v, Combine combine) const {
#pragma unroll
    for (int distance = W / 2; distance > 0; distance /= 2) v = combine(v, __shfl_xor_sync(mask, v, distance, W));
    return v;
  }

  __device__ int min(int v) const {
    return reduce(v, [](int a, int b) { return a < b ? a : b; });
  }

  __device__ bool all(bool predicate) const { return __all_sync(mask, predicate) != 0; }
};

/// A candidate for the pivot: its magnitude and an integer that breaks ties, the smaller first.
template <class R>
struct PivotCandidate {
  R magnitude;
  int order;
};

/// Magnitude by which pivots are compared. NaN counts as infinite, which keeps the comparison a total order.
template <class C>
__device__ detail::arithmetic_real_t<C> pivot_magnitude(C a) {
  using R = detail::arithmetic_real_t<C>;
  const R magnitude = detail::abs1(a);
  return magnitude == magnitude ? magnitude : R(1) / R(0);
}

/// The best candidate of the group, in every lane.
template <int W, class R>
__device__ PivotCandidate<R> best_pivot(const Lanes<W>& lanes, PivotCandidate<R> best) {
#pragma unroll
  for (int distance = W / 2; distance > 0; distance /= 2) {
    const R magnitude = __shfl_xor_sync(lanes.mask, best.magnitude, distance, W);
    const int order = __shfl_xor_sync(lanes.mask, best.order, distance, W);
    if (magnitude > best.magnitude || (magnitude == best.magnitude && order < best.order)) best = {magnitude, order};
  }
  return best;
}

}  // namespace blockjacobi::kernels
