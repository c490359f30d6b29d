#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

inline constexpr unsigned full_warp = 0xffffffffu;

/// L consecutive lanes of a warp, L a power of two. Unlike the groups of lanes.cuh the teams of a warp never diverge:
/// all 32 lanes make every call together, which saves the run-time masks.
template <int L>
struct Team {
  static_assert(L >= 1 && L <= 32 && (L & (L - 1)) == 0);
  static constexpr int lanes = L;
  static constexpr int per_warp = 32 / L;

  int rank;
  int number;  ///< of the team in its warp

  __device__ static Team current() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return {lane % L, lane / L};
  }

  /// Orders shared memory accesses of the warp.
  __device__ static void sync() { __syncwarp(); }
  __device__ static bool any_in_warp(bool predicate) { return __any_sync(full_warp, predicate) != 0; }

  /// A bit for each lane of the warp.
  __device__ static unsigned ballot(bool predicate) { return __ballot_sync(full_warp, predicate); }
  /// The bits of this team.
  __device__ static unsigned own(unsigned bits) {
    return bits >> (static_cast<int>(threadIdx.x) % 32 / L * L) & (L == 32 ? ~0u : (1u << L % 32) - 1u);
  }

  /// The value of the lane with rank `source`, 0 <= source < L.
  __device__ static int broadcast(int v, int source) { return __shfl_sync(full_warp, v, source, L); }
  __device__ static float broadcast(float v, int source) { return __shfl_sync(full_warp, v, source, L); }
  __device__ static double broadcast(double v, int source) { return __shfl_sync(full_warp, v, source, L); }
  template <class R>
  __device__ static detail::Complex<R> broadcast(detail::Complex<R> v, int source) {
    return {broadcast(v.re, source), broadcast(v.im, source)};
  }

  __device__ static int exchange(int v, int distance) { return __shfl_xor_sync(full_warp, v, distance, L); }
  __device__ static unsigned exchange(unsigned v, int distance) { return __shfl_xor_sync(full_warp, v, distance, L); }
  __device__ static float exchange(float v, int distance) { return __shfl_xor_sync(full_warp, v, distance, L); }
  __device__ static double exchange(double v, int distance) { return __shfl_xor_sync(full_warp, v, distance, L); }
  template <class R>
  __device__ static detail::Complex<R> exchange(detail::Complex<R> v, int distance) {
    return {exchange(v.re, distance), exchange(v.im, distance)};
  }

  /// combine must be associative and commutative on the values that occur, so that all lanes agree.
  template <class V, class Combine>
  __device__ static V reduce(V v, Combine combine) {
#pragma unroll
    for (int distance = L / 2; distance > 0; distance /= 2) v = combine(v, exchange(v, distance));
    return v;
  }

  __device__ static unsigned max(unsigned v) {
    if constexpr (L == 32)
      return __reduce_max_sync(full_warp, v);
    else
      return reduce(v, [](unsigned a, unsigned b) { return a > b ? a : b; });
  }
};

}  // namespace blockjacobi::kernels
