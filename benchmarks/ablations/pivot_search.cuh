#pragma once

#include "ablations/rows.cuh"

namespace bench {

/// The row of a pivot: where it is, and its place among the rows of P A.
struct Pivot {
  int row, place;
};

__device__ inline float magnitude(float a) { return fabsf(a); }
__device__ inline double magnitude(double a) { return fabs(a); }

/// 1 / pivot, and 0 of a pivot that is zero, as its column is zero then.
template <class T>
__device__ T reciprocal_or_zero(T pivot) {
  return pivot == T(0) ? T(0) : T(1) / pivot;
}

/// An element that may become a pivot, with its row and place in one number.
template <class T>
struct Candidate {
  T size;
  int number;

  /// Rows whose place is before k lose against all others.
  __device__ static Candidate of(T element, int place, int row, int k) {
    return {place >= k ? magnitude(element) : T(-1), most_rows * place + row};
  }
  __device__ Pivot pivot() const { return {number % most_rows, number / most_rows}; }

  /// The largest of a team by log2 steps of butterfly shuffles, of equals that of the first place.
  template <int lanes>
  __device__ Candidate best_of_team() const {
    Candidate best = *this;
#pragma unroll
    for (int distance = lanes / 2; distance > 0; distance /= 2) {
      const T other = Team<lanes>::exchange(best.size, distance);
      const int other_number = Team<lanes>::exchange(best.number, distance);
      if (other > best.size || (other == best.size && other_number < best.number)) best = {other, other_number};
    }
    return best;
  }

 private:
  static constexpr int most_rows = 1024;
};

/// Every lane brings one element.
struct ButterflySearch {
  /// The largest |element| of the lanes of a team whose place is at least k.
  template <int lanes, class T>
  __device__ static Pivot among_lanes(T element, int place, int row, int k) {
    return Candidate<T>::of(element, place, row, k).template best_of_team<lanes>().pivot();
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
