#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/team.cuh"

namespace blockjacobi::kernels {

/// The first of the largest |Re| + |Im| at or below the diagonal of column k of the n x n matrix at `a`; NaN counts as
/// the largest. `limit` if k >= n.
template <int L, class C>
__device__ int find_pivot_in_shared(const Team<L>& team, const C* a, int n, int k, int limit) {
  using Real = detail::arithmetic_real_t<C>;
  Real best = -1;
  int row = limit;
  for (int i = k + team.rank; i < n; i += L) {
    const Real magnitude = detail::abs1(a[i + k * n]);
    if (!(magnitude <= best)) {
      best = magnitude == magnitude ? magnitude : Real(1) / Real(0);
      row = i;
    }
  }
  Team<L>::for_each_distance([&](int distance) {
    const Real other = Team<L>::exchange(best, distance);
    const int other_row = Team<L>::exchange(row, distance);
    if (other > best || (other == best && other_row < row)) {
      best = other;
      row = other_row;
    }
  });
  return row;
}

template <int L, class C>
__device__ void swap_rows_in_shared(const Team<L>& team, C* a, int n, int k, int p) {
  if (p == k) return;
  for (int j = team.rank; j < n; j += L) {
    const C upper = a[k + j * n];
    a[k + j * n] = a[p + j * n];
    a[p + j * n] = upper;
  }
}

/// LU factorization in shared memory, for the few matrices that the fast path cannot serve: pivots that are zero, NaN,
/// or so large or small that their reciprocals are not at hand.
template <class C, int N, int L>
struct CarefulLu {
  C* a;  ///< n x n, contiguous
  int n;
  Team<L> team;
  unsigned char* interchanges;  ///< N bytes of shared memory

  /// All teams of a warp call it together; those with nothing to do have n = 0. Returns 0, or the number (1-based) of
  /// the first pivot that is exactly zero.
  __device__ int run() const {
    int info = 0;
    for (int k = 0; k < N; ++k) {
      const int p = find_pivot_in_shared(team, a, n, k, N);
      const bool zero = k < n && detail::is_zero(a[p + k * n]);
      if (zero && info == 0) info = k + 1;
      Team<L>::sync();  // the pivot has been read by all
      if (k < n) {
        if (team.rank == 0) interchanges[k] = static_cast<unsigned char>(p);
        swap_rows_in_shared(team, a, n, k, p);
      }
      Team<L>::sync();
      if (k < n && !zero) eliminate(k);
      Team<L>::sync();
    }
    return info;
  }

 private:
  /// Each lane has its rows.
  __device__ void eliminate(int k) const {
    const Divisor<C> pivot(a[k + k * n]);
    for (int i = k + 1 + team.rank; i < n; i += L) {
      const C multiplier = pivot.divide(a[i + k * n]);
      a[i + k * n] = multiplier;
      for (int j = k + 1; j < n; ++j) a[i + j * n] = fused_subtract(a[i + j * n], multiplier, a[k + j * n]);
    }
  }
};

}  // namespace blockjacobi::kernels
