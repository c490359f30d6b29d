#pragma once

#include "kernels/collectives/arithmetic.cuh"

namespace blockjacobi::kernels {

/// A matrix in the registers of one thread. Rows are interchanged by selection, as registers cannot be indexed.
template <class C, int N>
struct ThreadTile {
  using Real = detail::arithmetic_real_t<C>;
  C x[N][N];

  /// Row of the pivot of step k: the largest |Re| + |Im|, the first of equals. NaN wins against the
  /// element before it and loses against the one behind it.
  __device__ int find_pivot(int k) const {
    Real best = detail::abs1(x[k][k]);
    int row = k;
#pragma unroll
    for (int i = k + 1; i < N; ++i) {
      const Real magnitude = detail::abs1(x[i][k]);
      const bool better = !(magnitude <= best);
      best = better ? magnitude : best;
      row = better ? i : row;
    }
    return row;
  }

  __device__ void swap_rows(int k, int p) {
#pragma unroll
    for (int i = k + 1; i < N; ++i) {
      const bool swap = p == i;
#pragma unroll
      for (int j = 0; j < N; ++j) {
        const C upper = x[k][j], lower = x[i][j];
        x[k][j] = swap ? lower : upper;
        x[i][j] = swap ? upper : lower;
      }
    }
  }

  /// In place P A = L U; `interchange[k]` is the 0-based row that was interchanged with row k. Returns 0 or the number
  /// of the first zero pivot.
  __device__ int factorize(int (&interchange)[N]) {
    int info = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      interchange[k] = find_pivot(k);
      swap_rows(k, interchange[k]);
      const bool zero = detail::is_zero(x[k][k]);
      if (zero && info == 0) info = k + 1;
      const Divisor<C> divisor(zero ? detail::from_real<C>(1) : x[k][k]);
#pragma unroll
      for (int i = k + 1; i < N; ++i) {
        const C multiplier = divisor.divide(x[i][k]);
        x[i][k] = multiplier;
#pragma unroll
        for (int j = k + 1; j < N; ++j) x[i][j] = fused_subtract(x[i][j], multiplier, x[k][j]);
      }
    }
    return info;
  }

  /// In place Gauss-Jordan inversion of the rows as interchanged: column j of the registers is column order[j] of the
  /// inverse. Returns 0 or the number of the first zero pivot.
  __device__ int invert(int (&order)[N]) {
    int info = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) order[i] = i;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const int p = find_pivot(k);
      swap_rows(k, p);
#pragma unroll
      for (int i = k + 1; i < N; ++i) {
        const int upper = order[k], lower = order[i];
        order[k] = p == i ? lower : upper;
        order[i] = p == i ? upper : lower;
      }
      if (info == 0 && detail::is_zero(x[k][k])) info = k + 1;
      const C inverse = Divisor<C>(x[k][k]).reciprocal();
      x[k][k] = inverse;
#pragma unroll
      for (int j = 0; j < N; ++j)
        if (j != k) x[k][j] = x[k][j] * inverse;
#pragma unroll
      for (int i = 0; i < N; ++i) {
        if (i == k) continue;
        const C factor = x[i][k];
        x[i][k] = C{};
#pragma unroll
        for (int j = 0; j < N; ++j) x[i][j] = fused_subtract(x[i][j], factor, x[k][j]);
      }
    }
    return info;
  }
};

}  // namespace blockjacobi::kernels
