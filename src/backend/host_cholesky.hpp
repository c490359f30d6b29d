#pragma once

#include "backend/host_lu.hpp"
#include "backend/host_triangle.hpp"

#include <cmath>

namespace blockjacobi::detail {

/// A = U^H U in place on the upper triangle; the imaginary part of the diagonal counts as zero. Returns 0 or the first
/// k (1-based) whose pivot is not positive.
template <class C, class Ld, class N>
int cholesky_upper(C* a, Ld ld, N n) {
  using R = arithmetic_real_t<C>;
  std::array<C, lu_panel_width> row;
  for (int k = 0; k < n; ++k) {
    C* const diagonal = a + static_cast<std::ptrdiff_t>(k) * ld + k;
    const R pivot = real_part(*diagonal);
    if (!(pivot > 0)) return k + 1;
    const R root = std::sqrt(pivot), inverse = R(1) / root;
    *diagonal = from_real<C>(root);
    for (int j = k + 1; j < n; ++j) {
      C* const target = a + static_cast<std::ptrdiff_t>(j) * ld;
      target[k] = inverse * target[k];
      row[static_cast<std::size_t>(j)] = conj(target[k]);
      subtract_multiple(j - k, row.data() + k + 1, target[k], target + k + 1);
    }
  }
  return 0;
}

/// X <- V V^H in place on the upper triangle, for V with a real diagonal.
template <class C, class Ld, class N>
void multiply_upper_by_adjoint(C* v, Ld ld, N n) {
  for (int j = 0; j < n; ++j) {
    C* const x = v + static_cast<std::ptrdiff_t>(j) * ld;
    const C diagonal = x[j];
    for (int i = 0; i <= j; ++i) x[i] = x[i] * diagonal;
    for (int k = j + 1; k < n; ++k) {
      const C* const column = v + static_cast<std::ptrdiff_t>(k) * ld;
      const C s = conj(column[j]);
      for (int i = 0; i <= j; ++i) x[i] += column[i] * s;
    }
    x[j] = from_real<C>(real_part(x[j]));
  }
}

/// A^-1 = U^-1 U^-H in place on the upper triangle. Returns 0 or the first j (1-based) with u_jj exactly zero.
template <class C, class Ld, class N>
int invert_cholesky_upper(C* u, Ld ld, N n) {
  if (const int info = first_zero_diagonal(u, ld, n); info != 0) return info;
  invert_upper(u, ld, n);
  multiply_upper_by_adjoint(u, ld, n);
  return 0;
}

/// The same for any order and any storage of the triangle, by tiles that are copied to the stack.
template <Scalar T>
class TiledCholesky {
  using C = compute_t<T>;
  static constexpr index_t width = lu_panel_width;

 public:
  explicit TiledCholesky(const Triangle<C>& a) : a_(a), n_(a.order()) {}

  /// Returns 0 or the number of the first pivot that is not positive.
  int factor() {
    for (index_t j = 0; j < n_; j += width)
      for (index_t i = 0; i <= j; i += width) {
        const MatrixRef<C> target = load(target_, i, j);
        for (index_t k = 0; k < i; k += width) subtract_product<T>(target, load_adjoint(k, i), load(right_, k, j));
        int failed = 0;
        if (i < j)
          solve_adjoint(load(left_, i, i), target);
        else
          failed = cholesky_upper(target.data, width, target.cols);
        a_.store(i, j, target);  // also the factor of the part before a pivot that failed
        if (failed != 0) return j + failed;
      }
    return 0;
  }

  /// From the factor. Returns 0 or the first number of a diagonal element that is exactly zero.
  int invert() {
    for (index_t j = 0; j < n_; ++j)
      if (is_zero(a_.stored_column(j)[j])) return j + 1;
    invert_triangle();
    for (index_t j = 0; j < n_; j += width)
      for (index_t i = 0; i <= j; i += width) multiply_by_adjoint(i, j);
    return 0;
  }

 private:
  using Storage = Tile<C, lu_panel_width>;

  index_t extent(index_t i) const { return std::min(width, n_ - i); }

  MatrixRef<C> load(Storage& storage, index_t i, index_t j) {
    const MatrixRef<C> tile{storage.data(), extent(i), extent(j), width};
    if (i == j) fill_matrix(tile, C{});
    a_.load(i, j, tile);
    return tile;
  }

  /// The adjoint of tile (i, j), i < j.
  MatrixRef<C> load_adjoint(index_t i, index_t j) {
    const MatrixRef<C> tile{adjoint_.data(), extent(j), extent(i), width};
    a_.load_adjoint(i, j, tile);
    return tile;
  }

  /// A copy. why: Eigen's own adjoint of a complex tile with a single row or column is a temporary on the heap.
  MatrixRef<C> adjoint(const MatrixRef<C>& a) {
    const MatrixRef<C> copy{adjoint_.data(), a.cols, a.rows, width};
    for (index_t j = 0; j < copy.cols; ++j)
      for (index_t i = 0; i < copy.rows; ++i) copy(i, j) = conj(a(j, i));
    return copy;
  }

  /// B <- U^-H B.
  void solve_adjoint(const MatrixRef<C>& u, const MatrixRef<C>& b) {
    const MatrixRef<C> l = adjoint(u);
    for (index_t k = 0; k < l.rows; ++k) {
      const Divisor<C> divisor(l(k, k));
      for (index_t j = 0; j < b.cols; ++j) divisor.divide(1, b.column(j) + k);
      subtract_multiples(l.rows - k - 1, l.column(k) + k + 1, b.cols, b.ld, b.data + k, b.data + k + 1);
    }
  }

  static void negate(const MatrixRef<C>& a) {
    for (index_t j = 0; j < a.cols; ++j)
      for (index_t i = 0; i < a.rows; ++i) a(i, j) = -a(i, j);
  }

  /// V = U^-1 over U: V_ij = -(sum_{i <= k < j} V_ik U_kj) V_jj, from the top of each column of tiles.
  void invert_triangle() {
    for (index_t j = 0; j < n_; j += width) {
      const MatrixRef<C> diagonal = load(diagonal_, j, j);
      invert_upper(diagonal.data, width, diagonal.cols);
      for (index_t i = 0; i < j; i += width) {
        const MatrixRef<C> sum{target_.data(), extent(i), extent(j), width};
        fill_matrix(sum, C{});
        for (index_t k = i; k < j; k += width) subtract_product<T>(sum, load(left_, i, k), load(right_, k, j));
        const MatrixRef<C> product{left_.data(), extent(i), extent(j), width};
        fill_matrix(product, C{});
        subtract_product<T>(product, sum, diagonal);
        negate(product);
        a_.store(i, j, product);
      }
      a_.store(j, j, diagonal);
    }
  }

  /// X_ij = sum_{k >= j} V_ik V_jk^H over V_ij.
  void multiply_by_adjoint(index_t i, index_t j) {
    const MatrixRef<C> sum{target_.data(), extent(i), extent(j), width};
    fill_matrix(sum, C{});
    for (index_t k = j; k < n_; k += width) subtract_product<T>(sum, load(left_, i, k), adjoint(load(right_, j, k)));
    negate(sum);
    if (i == j)
      for (index_t d = 0; d < sum.cols; ++d) sum(d, d) = from_real<C>(real_part(sum(d, d)));
    a_.store(i, j, sum);
  }

  Triangle<C> a_;
  index_t n_;
  Storage target_, left_, right_, diagonal_, adjoint_;
};

/// A x = b in place for one right-hand side, from the Cholesky factorization.
template <class C>
void solve_cholesky(batched::Triangle triangle, const MatrixRef<const C>& factor, C* x) {
  const index_t n = factor.rows;
  if (triangle == batched::Triangle::upper) {
    for (index_t k = 0; k < n; ++k) {
      x[k] -= column_dot(k, factor.column(k), x);
      Divisor<C>(factor(k, k)).divide(1, x + k);
    }
    for (index_t k = n - 1; k >= 0; --k) {
      Divisor<C>(factor(k, k)).divide(1, x + k);
      subtract_multiple(k, factor.column(k), x[k], x);
    }
  } else {
    for (index_t k = 0; k < n; ++k) {
      Divisor<C>(factor(k, k)).divide(1, x + k);
      subtract_multiple(n - k - 1, factor.column(k) + k + 1, x[k], x + k + 1);
    }
    for (index_t k = n - 1; k >= 0; --k) {
      x[k] -= column_dot(n - k - 1, factor.column(k) + k + 1, x + k + 1);
      Divisor<C>(factor(k, k)).divide(1, x + k);
    }
  }
}

/// A X = B in place for all columns of B, of which the first factor.rows rows take part.
template <Scalar T, class C>
void solve_cholesky_columns(batched::Triangle triangle, const MatrixRef<const C>& factor, const MatrixRef<C>& b) {
  using Solve = TriangularSolve<T>;
  if (factor.rows < Solve::least_order || b.cols < Solve::least_columns) {
    for (index_t j = 0; j < b.cols; ++j) solve_cholesky(triangle, factor, b.column(j));
    return;
  }
  Solve plain(factor, batched::Op::none), adjoint(factor, batched::Op::conjugate_transpose);
  const bool is_upper = triangle == batched::Triangle::upper;
  (is_upper ? adjoint : plain).lower(false, b);
  (is_upper ? plain : adjoint).upper(false, b);
}

}  // namespace blockjacobi::detail
