#pragma once

#include "kernels/collectives/arithmetic.cuh"

namespace blockjacobi::kernels {

/// Inversion of a Hermitian positive definite matrix in the registers of one thread, by sweeps of its lower triangle:
/// that of k replaces a_kk by -1 / a_kk, a_ik by a_ik / a_kk and a_ij by a_ij - a_ik conj(a_jk) / a_kk, and all of them
/// leave -A^-1. Half of the operations and registers of Gauss-Jordan elimination; the pivots are the squares of the
/// diagonal of the Cholesky factor.
template <class C, int N>
struct DefiniteTile {
  using Real = detail::arithmetic_real_t<C>;
  C l[N][N];  ///< below and on the diagonal

  __device__ void load(const C (&x)[N][N], bool upper) {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int i = j; i < N; ++i) l[i][j] = upper ? detail::conj(x[j][i]) : x[i][j];
  }

  /// Both triangles of the inverse.
  __device__ void store(C (&x)[N][N]) const {
#pragma unroll
    for (int j = 0; j < N; ++j)
#pragma unroll
      for (int i = j; i < N; ++i) {
        x[j][i] = -detail::conj(l[i][j]);
        x[i][j] = -l[i][j];
      }
  }

  /// Returns 0 or the first k (1-based) whose pivot is not positive; the triangle is filled with NaN then.
  __device__ int invert() {
    int info = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const Real pivot = detail::real_part(l[k][k]);
      if (!(pivot > Real(0)) && info == 0) info = k + 1;
      sweep(k, Divisor<Real>(pivot));
    }
    if (info != 0) {
#pragma unroll
      for (int j = 0; j < N; ++j)
#pragma unroll
        for (int i = j; i < N; ++i) l[i][j] = quiet_nan<C>();
    }
    return info;
  }

 private:
  __device__ C column(int i, int k) const { return i > k ? l[i][k] : detail::conj(l[k][i]); }

  /// Rows from the last one up: those still to come need nothing of column k but what is above it.
  __device__ void sweep(int k, const Divisor<Real>& pivot) {
#pragma unroll
    for (int i = N - 1; i >= 0; --i) {
      if (i == k) continue;
      const C quotient = scaled(scaled(column(i, k), pivot.power), pivot.inverse);
#pragma unroll
      for (int j = 0; j <= i; ++j)
        if (j != k) l[i][j] = fused_subtract(l[i][j], quotient, detail::conj(column(j, k)));
      l[i][i] = detail::from_real<C>(detail::real_part(l[i][i]));
      if (i > k)
        l[i][k] = quotient;
      else
        l[k][i] = detail::conj(quotient);
    }
    l[k][k] = detail::from_real<C>(-pivot.reciprocal());
  }
};

}  // namespace blockjacobi::kernels
