#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

inline constexpr unsigned full_warp = 0xffffffffu;

/// L consecutive lanes of a warp. Unlike the groups of lanes.cuh the teams of a warp never diverge: all 32 lanes make
/// every call together, which saves the run-time masks. If L is no power of two, lanes are left over: these spare lanes
/// make the calls too, as members of the last team with ranks from L on, but neither their values nor what they get
/// from reduce() count.
template <int L>
struct Team {
  static_assert(L >= 1 && L <= 32);
  static constexpr int lanes = L;
  static constexpr int per_warp = 32 / L;
  static constexpr bool power_of_two = (L & (L - 1)) == 0;

  int rank;
  int number;  ///< of the team in its warp

  __device__ static Team current() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if constexpr (power_of_two)
      return {lane % L, lane / L};  // of which the compiler knows the range
    else
      return {lane - first_lane(), first_lane() / L};
  }
  __device__ bool spare() const { return !power_of_two && rank >= L; }
  /// Of the team in its thread block.
  __device__ int number_in_cta() const {
    const int thread = static_cast<int>(threadIdx.x);
    return power_of_two ? thread / L : thread / 32 * per_warp + number;
  }

  /// Orders shared memory accesses of the warp.
  __device__ static void sync() { __syncwarp(); }
  __device__ static bool any_in_warp(bool predicate) { return __any_sync(full_warp, predicate) != 0; }

  /// The value of the lane with rank `source`, 0 <= source < L.
  template <class V>
  __device__ static V broadcast(V v, int source) {
    if constexpr (power_of_two)
      return __shfl_sync(full_warp, v, source, L);
    else
      return __shfl_sync(full_warp, v, first_lane() + source);
  }
  template <class R>
  __device__ static detail::Complex<R> broadcast(detail::Complex<R> v, int source) {
    return {broadcast(v.re, source), broadcast(v.im, source)};
  }

  /// The value of the lane `distance` further on in the team, cyclically or (powers of two) by xor.
  template <class V>
  __device__ static V exchange(V v, int distance) {
    if constexpr (power_of_two) {
      return __shfl_xor_sync(full_warp, v, distance, L);
    } else {
      const int source = static_cast<int>(threadIdx.x) % 32 + distance;
      return __shfl_sync(full_warp, v, source < first_lane() + L ? source : source - L);
    }
  }
  template <class R>
  __device__ static detail::Complex<R> exchange(detail::Complex<R> v, int distance) {
    return {exchange(v.re, distance), exchange(v.im, distance)};
  }

  /// Calls combine(distance) for distances such that a combination of the values of both lanes each time ends with that
  /// of the whole team in every lane. Some lanes may be met twice if L is no power of two.
  template <class Combine>
  __device__ static void for_each_distance(Combine combine) {
#pragma unroll
    for (int left = L; left > 1; left = (left + 1) / 2) combine(left / 2);
  }

  /// combine must be associative, commutative and (but for powers of two) idempotent on the values that occur, so that
  /// all lanes agree.
  template <class V, class Combine>
  __device__ static V reduce(V v, Combine combine) {
    for_each_distance([&](int distance) { v = combine(v, exchange(v, distance)); });
    return v;
  }

  __device__ static unsigned max(unsigned v) {
    if constexpr (L == 32)
      return __reduce_max_sync(full_warp, v);
    else
      return reduce(v, [](unsigned a, unsigned b) { return a > b ? a : b; });
  }

 private:
  /// Of the team, in its warp.
  __device__ static int first_lane() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return power_of_two ? lane / L * L : min(lane / L, per_warp - 1) * L;
  }
};

}  // namespace blockjacobi::kernels
