#pragma once

#include "core/shared/compute_type.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <array>
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
#pragma omp simd
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

/// Columns of a panel of blocked_gauss_jordan.
inline constexpr int panel_width = 32;

/// Gauss-Jordan steps first .. first + width - 1 on these columns alone (all rows). Afterwards the panel P holds the
/// columns of the product of the elementary matrices that differ from the identity. Returns 0 or the number of the
/// zero pivot.
template <class C>
int gauss_jordan_panel(C* a, int n, int ld, int first, int width, int* pivots) {
  C* panel = a + static_cast<std::ptrdiff_t>(first) * ld;
  std::array<C, max_block_size> factor;
  for (int k = first; k < first + width; ++k) {
    C* column = a + static_cast<std::ptrdiff_t>(k) * ld;
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (abs1(column[i]) > abs1(column[pivot])) pivot = i;
    if (is_zero(column[pivot])) return k + 1;
    pivots[k] = pivot;
    if (pivot != k)
      for (std::ptrdiff_t j = 0; j < width; ++j) std::swap(panel[k + j * ld], panel[pivot + j * ld]);

    const C inverse = reciprocal(column[k]);
    std::copy_n(column, n, factor.begin());
    factor[static_cast<std::size_t>(k)] = from_real<C>(0);
    for (int j = 0; j < width; ++j) {
      C* target = panel + static_cast<std::ptrdiff_t>(j) * ld;
      if (target == column) continue;
      const C scaled = target[k] * inverse;
      for (int i = 0; i < n; ++i) target[i] -= factor[static_cast<std::size_t>(i)] * scaled;
      target[k] = scaled;
    }
    for (int i = 0; i < n; ++i) column[i] = -(factor[static_cast<std::size_t>(i)] * inverse);
    column[k] = inverse;
  }
  return 0;
}

/// Tiles of an update, small enough that Eigen keeps its packed copies of them on the stack: no allocation.
inline constexpr int tile_rows = 128, tile_columns = 64;

/// B <- B + P B_J, where P is the panel first .. first + width - 1 of the n x n matrix `a`, J its rows, and B the
/// columns begin .. begin + columns - 1, in which B_J counts as zero on the left-hand side. Takes the row interchanges
/// first.
template <Scalar T>
void take_panel(T* a, int n, int ld, int first, int width, const int* pivots, int begin, int columns) {
  using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, panel_width, tile_columns>;
  Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>> block(a, n, n, Eigen::OuterStride<>(ld));
  for (int j = begin; j < begin + columns; j += tile_columns) {
    auto tile = block.middleCols(j, std::min(tile_columns, begin + columns - j));
    for (int k = first; k < first + width; ++k)
      if (pivots[k] != k) tile.row(k).swap(tile.row(pivots[k]));
    const Rows rows = tile.middleRows(first, width);
    tile.middleRows(first, width).setZero();
    for (int i = 0; i < n; i += tile_rows) {
      const int height = std::min(tile_rows, n - i);
      tile.middleRows(i, height).noalias() += block.block(i, first, height, width) * rows;
    }
  }
}

/// gauss_jordan for a run-time order n <= max_block_size and a leading dimension ld >= n, by panels whose steps the
/// other columns take at once. Gauss-Jordan rather than LU with triangular solves: its left and right residuals are
/// alike, and CG needs the inverse of an SPD block nearly symmetric.
template <Scalar T>
int blocked_gauss_jordan(T* a, int n, int ld) {
  std::array<int, max_block_size> pivots;
  for (int first = 0; first < n; first += panel_width) {
    const int width = std::min(panel_width, n - first);
    if (const int info = gauss_jordan_panel(compute_cast(a), n, ld, first, width, pivots.data()); info != 0)
      return info;
    take_panel(a, n, ld, first, width, pivots.data(), 0, first);
    take_panel(a, n, ld, first, width, pivots.data(), first + width, n - first - width);
  }
  for (int k = n - 1; k >= 0; --k) {
    const int pivot = pivots[static_cast<std::size_t>(k)];
    T* const column = a + static_cast<std::ptrdiff_t>(k) * ld;
    if (pivot != k) std::swap_ranges(column, column + n, a + static_cast<std::ptrdiff_t>(pivot) * ld);
  }
  return 0;
}

template <Scalar T>
int blocked_gauss_jordan(T* a, int n) {
  return blocked_gauss_jordan(a, n, n);
}

}  // namespace blockjacobi::detail
