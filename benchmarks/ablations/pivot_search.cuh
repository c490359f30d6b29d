#pragma once

#include "ablations/rows.cuh"

namespace bench {

/// The row of a pivot: where it is, and its place among the rows of P A.
struct Pivot {
  int row, place;
};

__device__ inline float magnitude(float a) { return fabsf(a); }
__device__ inline double magnitude(double a) { return fabs(a); }

/// Every lane brings one element; log2 steps of butterfly shuffles find the largest, of equals that of the first place.
struct ButterflySearch {
  /// The largest |element| of the lanes of a team whose place is at least k.
  template <int lanes, class T>
  __device__ static Pivot among_lanes(T element, int place, int row, int k) {
    T best = place >= k ? magnitude(element) : T(-1);
    int candidate = 32 * place + row;
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      const T other = Team<lanes>::exchange(best, distance);
      const int other_candidate = Team<lanes>::exchange(candidate, distance);
      if (other > best || (other == best && other_candidate < candidate)) {
        best = other;
        candidate = other_candidate;
      }
    }
    return {candidate % 32, candidate / 32};
  }

  template <int N, class Rows>
  __device__ static Pivot find(const Rows& rows, int place, int k) {
    return among_lanes<Rows::lanes>(rows.own(k), place, rows.rank, k);
  }
};

/// Every lane looks at the whole column, which takes no exchange. Rows must be at their places.
struct SerialSearch {
  template <int N, class Rows>
  __device__ static Pivot find(const Rows& rows, int, int k) {
    int row = k;
    auto best = magnitude(rows.element(k, k));
#pragma unroll
    for (int i = 0; i < N; ++i) {
      if (i <= k) continue;
      const auto other = magnitude(rows.element(i, k));
      if (other > best) {
        best = other;
        row = i;
      }
    }
    return {row, row};
  }
};

}  // namespace bench
