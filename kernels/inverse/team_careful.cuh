#pragma once

#include "core/shared/singular_rule.hpp"
#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/team.cuh"
#include "kernels/lu/team_careful.cuh"

namespace blockjacobi::kernels {

/// Gauss-Jordan inversion with partial pivoting and rows scaled by powers of two, in shared memory: for the few
/// matrices that the fast path cannot serve. Slow, but plain: no assumption on the elements.
template <class C, int N, int L>
struct CarefulInverse {
  using Real = detail::arithmetic_real_t<C>;

  C* a;  ///< n x n, contiguous
  int n;
  Team<L> team;
  unsigned char* pivots;  ///< N bytes of shared memory

  __device__ C& at(int i, int j) const { return a[i + j * n]; }

  /// All teams of a warp call it together; those with nothing to do have n = 0. Returns 0, or the number (1-based) of
  /// the first pivot that is exactly zero; the matrix is unspecified then.
  __device__ int run() const {
    int exponent[(N + L - 1) / L];
    scale_rows(exponent);
    int info = 0;
    for (int k = 0; k < N; ++k) {
      const int p = find_pivot_in_shared(team, a, n, k, N);
      if (k < n && info == 0 && detail::is_zero(at(p, k))) info = k + 1;
      Team<L>::sync();  // the pivot has been read by all
      eliminate(k, p, k < n && info == 0);
    }
    for (int k = N - 1; k >= 0; --k) {
      if (k < n && info == 0) swap_columns(k, pivots[k]);
      Team<L>::sync();
    }
    if (info == 0) scale_columns(exponent);
    Team<L>::sync();
    return info;
  }

 private:
  __device__ void scale_rows(int (&exponent)[(N + L - 1) / L]) const {
#pragma unroll
    for (int q = 0; q < (N + L - 1) / L; ++q) {
      const int i = team.rank + q * L;
      Real largest = 0;
      for (int j = 0; i < n && j < n; ++j) largest = fmax(largest, detail::abs1(at(i, j)));
      exponent[q] = detail::equilibrating_exponent(largest);
      for (int j = 0; i < n && j < n; ++j) at(i, j) = detail::scale_by_power(at(i, j), exponent[q]);
    }
    Team<L>::sync();
  }

  /// (E A)^-1 E = A^-1.
  __device__ void scale_columns(const int (&exponent)[(N + L - 1) / L]) const {
#pragma unroll
    for (int q = 0; q < (N + L - 1) / L; ++q) {
      const int j = team.rank + q * L;
      for (int i = 0; j < n && i < n; ++i) at(i, j) = detail::scale_by_power(at(i, j), exponent[q]);
    }
  }

  __device__ void eliminate(int k, int p, bool active) const {
    if (active) {
      if (team.rank == 0) pivots[k] = static_cast<unsigned char>(p);
      swap_rows_in_shared(team, a, n, k, p);
    }
    Team<L>::sync();
    const Divisor<C> pivot(active ? at(k, k) : C{});
    if (active) {
      for (int j = team.rank; j < n; j += L) {
        if (j == k) continue;
        const C v = pivot.divide(at(k, j));
        for (int i = 0; i < n; ++i)
          if (i != k) at(i, j) = fused_subtract(at(i, j), at(i, k), v);
        at(k, j) = v;
      }
    }
    Team<L>::sync();
    if (active) {
      for (int i = team.rank; i < n; i += L) at(i, k) = i == k ? pivot.reciprocal() : -pivot.divide(at(i, k));
    }
    Team<L>::sync();
  }

  __device__ void swap_columns(int k, int p) const {
    if (p == k) return;
    for (int i = team.rank; i < n; i += L) {
      const C left = at(i, k);
      at(i, k) = at(i, p);
      at(i, p) = left;
    }
  }
};

}  // namespace blockjacobi::kernels
