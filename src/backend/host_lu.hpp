#pragma once

#include "backend/host_solve.hpp"

namespace blockjacobi::detail {

/// Columns of a panel, which is factored before the others take the steps.
inline constexpr index_t lu_panel_width = 32;

/// LU factorization of the m x n panel `a` with partial pivoting (largest |Re| + |Im|, the first of equals),
/// column by column; sizes may be compile-time constants. pivots[k]: the row, counted from 0 within the panel, that was
/// exchanged with row k. Returns 0 or the first k (1-based) whose pivot is exactly zero; goes on without dividing then.
template <class C, class Ld, class M, class N>
int lu_by_columns(C* a, Ld ld, M m, N n, index_t* pivots) {
  int info = 0;
  for (int k = 0; k < n && k < m; ++k) {
    C* const column = a + static_cast<std::ptrdiff_t>(k) * ld;
    int pivot = k;
    for (int i = k + 1; i < m; ++i)
      if (abs1(column[i]) > abs1(column[pivot])) pivot = i;
    pivots[k] = pivot;
    if (is_zero(column[pivot])) {
      if (info == 0) info = k + 1;
      continue;
    }
    if (pivot != k)
      for (std::ptrdiff_t j = 0; j < n; ++j) std::swap(a[k + j * ld], a[pivot + j * ld]);
    Divisor<C>(column[k]).divide(m - k - 1, column + k + 1);
    if constexpr (std::is_integral_v<N>) {
      subtract_multiples<C>(m - k - 1, column + k + 1, n - k - 1, ld, column + ld + k, column + ld + k + 1);
    } else {
      // why: with constants g++ 12 makes straight code of this
      for (int j = k + 1; j < n; ++j) {
        C* const target = a + static_cast<std::ptrdiff_t>(j) * ld;
        subtract_multiple(m - k - 1, column + k + 1, target[k], target + k + 1);
      }
    }
  }
  return info;
}

/// Interchanges row first + k with row first + pivots[k], for k = 0..count-1 in this order.
template <class C>
void interchange_rows(const MatrixRef<C>& a, index_t first, index_t count, const index_t* pivots) {
  for (index_t j = 0; j < a.cols; ++j) {
    C* const column = a.column(j) + first;
    for (index_t k = 0; k < count; ++k)
      if (pivots[k] != k) std::swap(column[k], column[pivots[k]]);
  }
}

/// B <- L^-1 B with the unit lower triangle of the square `l`.
template <class A, class C>
void solve_unit_lower(const MatrixRef<A>& l, const MatrixRef<C>& b) {
  // why by four columns: those that a power of two separates push each other out of the cache
  for (index_t j = 0; j < b.cols; j += 4)
    for (index_t k = 0; k < l.rows; ++k) {
      C* const x = b.column(j) + k;
      subtract_multiples<C>(l.rows - k - 1, l.column(k) + k + 1, std::min(4, b.cols - j), b.ld, x, x + 1);
    }
}

/// B <- B L^-1 with the unit lower triangle of the square `l`.
template <class A, class C>
void solve_unit_lower_from_right(const MatrixRef<A>& l, const MatrixRef<C>& b) {
  for (index_t j = l.rows - 1; j >= 0; --j)
    for (index_t k = j + 1; k < l.rows; ++k) subtract_multiple<C>(b.rows, b.column(k), l(k, j), b.column(j));
}

/// LU factorization of a square matrix of any order: lu_by_columns panel by panel, with the same pivots and result.
template <Scalar T, class C>
int lu_paneled(const MatrixRef<C>& a, index_t* pivots) {
  const index_t n = a.rows;
  int info = 0;
  for (index_t first = 0; first < n; first += lu_panel_width) {
    const index_t width = std::min(lu_panel_width, n - first), next = first + width;
    const int zero = lu_by_columns(a.column(first) + first, a.ld, n - first, width, pivots + first);
    if (info == 0 && zero != 0) info = first + zero;
    interchange_rows(part(a, 0, 0, n, first), first, width, pivots + first);
    interchange_rows(part(a, 0, next, n, n - next), first, width, pivots + first);
    for (index_t k = first; k < next; ++k) pivots[k] += first;
    const MatrixRef<C> right = part(a, first, next, width, n - next);
    solve_unit_lower(part(a, first, first, width, width), right);
    subtract_product<T>(part(a, next, next, n - next, n - next), part(a, next, first, n - next, width), right);
  }
  return info;
}

/// The first j (1-based) with u_jj exactly zero, or 0.
template <class C, class Ld, class N>
int first_zero_diagonal(const C* u, Ld ld, N n) {
  for (int j = 0; j < n; ++j)
    if (is_zero(u[j + static_cast<std::ptrdiff_t>(j) * ld])) return j + 1;
  return 0;
}

/// U <- U^-1 for an upper triangle without zeros on the diagonal; the rest is left as it is.
template <class C, class Ld, class N>
void invert_upper(C* u, Ld ld, N n) {
  for (int j = 0; j < n; ++j) {
    C* const x = u + static_cast<std::ptrdiff_t>(j) * ld;
    x[j] = reciprocal(x[j]);
    for (int k = 0; k < j; ++k) {
      const C* const column = u + static_cast<std::ptrdiff_t>(k) * ld;
      const C s = x[k];
      for (int i = 0; i < k; ++i) x[i] += column[i] * s;
      x[k] = column[k] * s;
    }
    for (int i = 0; i < j; ++i) x[i] = -(x[i] * x[j]);
  }
}

/// Exchanges columns k and pivots[k], from the last k to the first: what getrf's row interchanges are to the inverse.
template <class C>
void interchange_columns(const MatrixRef<C>& x, const index_t* pivots) {
  for (index_t k = x.cols - 1; k >= 0; --k)
    if (pivots[k] != k) std::swap_ranges(x.column(k), x.column(k) + x.rows, x.column(pivots[k]));
}

/// A^-1 in place from a regular LU factorization, without blocks: U^-1, then X L = U^-1 from the last column on.
template <class C, class Ld, class N>
void invert_lu_by_columns(C* a, Ld ld, N n, const index_t* pivots) {
  invert_upper(a, ld, n);
  std::array<C, max_block_size> l;
  for (int j = n - 1; j >= 0; --j) {
    C* const x = a + static_cast<std::ptrdiff_t>(j) * ld;
    for (int k = j + 1; k < n; ++k) {
      l[static_cast<std::size_t>(k)] = x[k];
      x[k] = C{};
    }
    for (int k = j + 1; k < n; ++k)
      subtract_multiple<C>(n, a + static_cast<std::ptrdiff_t>(k) * ld, l[static_cast<std::size_t>(k)], x);
  }
  interchange_columns(MatrixRef<C>{a, n, n, ld}, pivots);
}

/// U <- U^-1 for the upper triangle of a square matrix of any order, by panels.
template <Scalar T, class C>
void invert_upper_paneled(const MatrixRef<C>& u) {
  Tile<C, lu_panel_width> tile;
  for (index_t first = 0; first < u.rows; first += lu_panel_width) {
    const index_t width = std::min(lu_panel_width, u.rows - first);
    const MatrixRef<C> diagonal = part(u, first, first, width, width), above = part(u, 0, first, first, width);
    invert_upper(diagonal.data, diagonal.ld, width);
    // -U00^-1 U01 U11^-1, where U00^-1 is the triangle found so far: from the top on as many rows at a time as a
    // panel has columns, which need those of U01 from their own on.
    for (index_t i = 0; i < first; i += lu_panel_width) {
      const index_t next = i + lu_panel_width;  // `first` is a multiple of the width
      const MatrixRef<C> target = part(above, i, 0, lu_panel_width, width);
      const MatrixRef<C> sum{tile.data(), lu_panel_width, width, lu_panel_width};
      fill_matrix(sum, C{});
      for (index_t j = 0; j < width; ++j)
        for (index_t k = 0; k < lu_panel_width; ++k)
          subtract_multiple(k + 1, u.column(i + k) + i, target(k, j), sum.column(j));
      subtract_product<T>(sum, part(u, i, next, lu_panel_width, first - next),
                          part(above, next, 0, first - next, width));
      // The lower triangle of U11 holds something else.
      fill_matrix(target, C{});
      for (index_t j = 0; j < width; ++j)
        for (index_t k = 0; k <= j; ++k)
          subtract_multiple(lu_panel_width, sum.column(k), -diagonal(k, j), target.column(j));
    }
  }
}

/// A^-1 in place from a regular LU factorization of any order.
template <Scalar T, class C>
void invert_lu_paneled(const MatrixRef<C>& a, const index_t* pivots) {
  invert_upper_paneled<T>(a);
  // why: the stack of a thread may be half a megabyte or less, so the panel that is copied gets narrower with length.
  constexpr index_t capacity = 65536 / static_cast<index_t>(sizeof(C));
  std::array<C, static_cast<std::size_t>(capacity)> copy;
  const index_t n = a.rows, panel = std::min(lu_panel_width, capacity / std::max<index_t>(n, 1));
  for (index_t end = n; end > 0;) {
    const index_t width = (end - 1) % panel + 1, first = end - width;
    const MatrixRef<C> x = part(a, 0, first, n, width), l{copy.data(), n - first, width, n - first};
    copy_matrix(MatrixRef<const C>{x.data + first, n - first, width, a.ld}, l);
    for (index_t j = 0; j < width; ++j) std::fill_n(x.column(j) + first + j + 1, n - first - j - 1, C{});
    subtract_product<T>(x, part(a, 0, end, n, n - end), part(l, width, 0, n - end, width));
    solve_unit_lower_from_right(part(l, 0, 0, width, width), x);
    end = first;
  }
  interchange_columns(a, pivots);
}

/// op(A) x = b in place for one right-hand side, from the LU factorization; `ipiv` as getrf has it, 1-based.
template <class C>
void solve_lu(batched::Op op, const MatrixRef<const C>& lu, const index_t* ipiv, C* x) {
  const index_t n = lu.rows;
  if (op == batched::Op::none) {
    for (index_t k = 0; k < n; ++k) std::swap(x[k], x[ipiv[k] - 1]);
    solve_unit_lower(lu, MatrixRef<C>{x, n, 1, n});
    for (index_t k = n - 1; k >= 0; --k) {
      Divisor<C>(lu(k, k)).divide(1, x + k);
      subtract_multiple(k, lu.column(k), x[k], x);
    }
    return;
  }
  // A^T x = b is A^H conj(x) = conj(b).
  const bool plain = op == batched::Op::transpose;
  if (plain)
    for (index_t i = 0; i < n; ++i) x[i] = conj(x[i]);
  for (index_t k = 0; k < n; ++k) {
    x[k] -= column_dot(k, lu.column(k), x);
    Divisor<C>(conj(lu(k, k))).divide(1, x + k);
  }
  for (index_t k = n - 1; k >= 0; --k) x[k] -= column_dot(n - k - 1, lu.column(k) + k + 1, x + k + 1);
  for (index_t k = n - 1; k >= 0; --k) std::swap(x[k], x[ipiv[k] - 1]);
  if (plain)
    for (index_t i = 0; i < n; ++i) x[i] = conj(x[i]);
}

/// op(A) X = B in place for all columns of B, of which the first lu.rows rows take part.
template <Scalar T, class C>
void solve_lu_columns(batched::Op op, const MatrixRef<const C>& lu, const index_t* ipiv, const MatrixRef<C>& b) {
  using Solve = TriangularSolve<T>;
  if (lu.rows < Solve::least_order || b.cols < Solve::least_columns) {
    for (index_t j = 0; j < b.cols; ++j) solve_lu(op, lu, ipiv, b.column(j));
    return;
  }
  Solve solve(lu, op);
  if (op == batched::Op::none) {
    for (index_t j = 0; j < b.cols; ++j)
      for (index_t k = 0; k < lu.rows; ++k) std::swap(b(k, j), b(ipiv[k] - 1, j));
    solve.lower(true, b);
    solve.upper(false, b);
  } else {
    solve.lower(false, b);
    solve.upper(true, b);
    for (index_t j = 0; j < b.cols; ++j)
      for (index_t k = lu.rows - 1; k >= 0; --k) std::swap(b(k, j), b(ipiv[k] - 1, j));
  }
}

}  // namespace blockjacobi::detail
