#pragma once

#include "core/shared/compute_type.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cstddef>

namespace blockjacobi::detail {

/// Columns of a panel of paneled_gauss_jordan.
inline constexpr int panel_width = 32;

/// Elements for an order that may be a compile-time constant, and else is `most` at most.
template <class Order, int most>
inline constexpr std::size_t capacity_of = most;
template <int N, int most>
inline constexpr std::size_t capacity_of<std::integral_constant<int, N>, most> = N;

/// Steps first .. first + width - 1 of an in-place Gauss-Jordan inversion of a column-major n x n matrix on these
/// columns alone (all rows), with partial pivoting (largest |Re| + |Im|, the first of equals); sizes may be
/// compile-time constants. Afterwards the panel holds the columns of the product of the elementary matrices that differ
/// from the identity. Returns 0, or k (1-based) if pivot k is exactly zero; the matrix is unspecified then.
template <class C, class Order, class Ld, class Width>
int gauss_jordan_panel(C* a, Order n, Ld ld, int first, Width width, int* pivots) {
  C* panel = a + static_cast<std::ptrdiff_t>(first) * ld;
  C factor[capacity_of<Order, max_block_size>];
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
    for (int i = 0; i < n; ++i) factor[i] = column[i];
    factor[k] = from_real<C>(0);
    for (int j = 0; j < width; ++j) {
      C* target = panel + static_cast<std::ptrdiff_t>(j) * ld;
      const C scaled = target[k] * inverse;
#pragma omp simd
      for (int i = 0; i < n; ++i) target[i] -= factor[i] * scaled;
      target[k] = scaled;
    }
    for (int i = 0; i < n; ++i) column[i] = -(factor[i] * inverse);
    column[k] = inverse;
  }
  return 0;
}

/// The last step of the inversion: the interchanges of rows, from the last to the first, as ones of columns.
template <class C, class Order, class Ld>
void interchange_inverse_columns(C* a, Order n, Ld ld, const int* pivots) {
  for (int k = n - 2; k >= 0; --k) {
    C* const column = a + static_cast<std::ptrdiff_t>(k) * ld;
    if (pivots[k] != k) std::swap_ranges(column, column + n, a + static_cast<std::ptrdiff_t>(pivots[k]) * ld);
  }
}

/// In-place inversion of an n x n matrix without gaps in one panel; n may be a compile-time constant. Returns as
/// gauss_jordan_panel(). `pivots`: n elements; step k exchanged row k with row pivots[k].
template <class C, class Order>
int gauss_jordan(C* a, Order n, int* pivots) {
  if (const int info = gauss_jordan_panel(a, n, n, 0, n, pivots); info != 0) return info;
  interchange_inverse_columns(a, n, n, pivots);
  return 0;
}
template <class C, class Order>
int gauss_jordan(C* a, Order n) {
  int pivots[capacity_of<Order, panel_width>];
  return gauss_jordan(a, n, pivots);
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
int paneled_gauss_jordan(T* a, int n, int ld, int* pivots) {
  for (int first = 0; first < n; first += panel_width) {
    const int width = std::min(panel_width, n - first);
    if (const int info = gauss_jordan_panel(compute_cast(a), n, ld, first, width, pivots); info != 0) return info;
    take_panel(a, n, ld, first, width, pivots, 0, first);
    take_panel(a, n, ld, first, width, pivots, first + width, n - first - width);
  }
  interchange_inverse_columns(a, n, ld, pivots);
  return 0;
}

template <Scalar T>
int paneled_gauss_jordan(T* a, int n, int ld) {
  std::array<int, max_block_size> pivots;
  return paneled_gauss_jordan(a, n, ld, pivots.data());
}

template <Scalar T>
int paneled_gauss_jordan(T* a, int n) {
  return paneled_gauss_jordan(a, n, n);
}

}  // namespace blockjacobi::detail
