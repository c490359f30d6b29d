#pragma once

#include "kernels/collectives/team.cuh"

namespace blockjacobi::kernels {

/// A row as the next pivot: its magnitude as an integer of 64 bits, NaN the largest, and its position, which decides
/// between equals as in LAPACK. Positions of a comparison differ.
struct alignas(16) PivotOffer {
  unsigned high, low;
  unsigned position;
  int warp;

  /// What never wins against a row.
  __device__ static PivotOffer none(unsigned number) { return {0, 0, 0x80000000u + number, 0}; }

  /// Without branches, which lanes would take apart.
  __device__ bool beats(const PivotOffer& other) const {
    const unsigned long long own = magnitude(), others = other.magnitude();
    return (own > others) | ((own == others) & (position < other.position));
  }
  __device__ bool is_zero() const { return (high | low) == 0; }

 private:
  __device__ unsigned long long magnitude() const { return static_cast<unsigned long long>(high) << 32 | low; }
};

__device__ inline PivotOffer pivot_offer(float magnitude, int position, int warp) {
  return {__float_as_uint(magnitude) & 0x7fffffffu, 0, static_cast<unsigned>(position), warp};
}
__device__ inline PivotOffer pivot_offer(double magnitude, int position, int warp) {
  return {static_cast<unsigned>(__double2hiint(magnitude)) & 0x7fffffffu,
          static_cast<unsigned>(__double2loint(magnitude)), static_cast<unsigned>(position), warp};
}

/// Whether this lane's offer is the best of the warp, in which the largest upper word is `high`.
__device__ inline bool is_best_of_warp(const PivotOffer& own, unsigned high) {
  bool best = own.high == high;
  const unsigned equal = __ballot_sync(full_warp, best);
  if ((equal & (equal - 1)) != 0) {
    const unsigned low = __reduce_max_sync(full_warp, best ? own.low : 0u);
    best = best && own.low == low;
    const unsigned position = __reduce_min_sync(full_warp, best ? own.position : ~0u);
    best = best && own.position == position;
  }
  return best;
}
__device__ inline bool is_best_of_warp(const PivotOffer& own) {
  return is_best_of_warp(own, __reduce_max_sync(full_warp, own.high));
}

}  // namespace blockjacobi::kernels
