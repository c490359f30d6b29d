#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

#include <Eigen/LU>

#include <algorithm>
#include <cstddef>

namespace blockjacobi::detail {

/// In-place Gauss-Jordan inversion of a column-major N x N matrix with partial pivoting (largest |Re| + |Im|, the
/// first of equals). Returns 0, or k (1-based) if pivot k is exactly zero; the matrix is unspecified then.
template <int N, class C>
int gauss_jordan(C* a) {
  constexpr auto size = static_cast<std::size_t>(N);
  int pivots[size];
  C factor[size];
  for (int k = 0; k < N; ++k) {
    C* column = a + k * N;
    int pivot = k;
    for (int i = k + 1; i < N; ++i)
      if (abs1(column[i]) > abs1(column[pivot])) pivot = i;
    if (is_zero(column[pivot])) return k + 1;
    pivots[k] = pivot;
    if (pivot != k)
      for (int j = 0; j < N; ++j) std::swap(a[k + j * N], a[pivot + j * N]);

    const C inverse = reciprocal(column[k]);
    for (int i = 0; i < N; ++i) factor[i] = column[i];
    factor[k] = from_real<C>(0);
    for (int j = 0; j < N; ++j) {
      C* target = a + j * N;
      const C scaled = target[k] * inverse;
      for (int i = 0; i < N; ++i) target[i] -= factor[i] * scaled;
      target[k] = scaled;
    }
    for (int i = 0; i < N; ++i) column[i] = -(factor[i] * inverse);
    column[k] = inverse;
  }
  for (int k = N - 1; k >= 0; --k) {
    const int pivot = pivots[k];
    if (pivot != k) std::swap_ranges(a + k * N, a + (k + 1) * N, a + pivot * N);
  }
  return 0;
}

/// The same outcome for a run-time order n, by Eigen's blocked LU.
template <Scalar T>
int lu_inverse(T* a, int n) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  Eigen::Map<Matrix> block(a, n, n);
  const Eigen::PartialPivLU<Matrix> lu(block);
  for (int k = 0; k < n; ++k)
    if (lu.matrixLU()(k, k) == T(0)) return k + 1;
  block = lu.inverse();
  return 0;
}

}  // namespace blockjacobi::detail
