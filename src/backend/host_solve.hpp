#pragma once

#include "backend/host_tile.hpp"

namespace blockjacobi::detail {

/// Solves with a triangle of op(A), A square of any order, for several right-hand sides at once: tile by tile of the
/// diagonal, after each of which the other rows take a product.
template <Scalar T>
class TriangularSolve {
  using C = compute_t<T>;
  static constexpr index_t width = 32, columns = 64;

 public:
  /// Below these, columns one by one are as fast.
  static constexpr index_t least_order = width + 1, least_columns = 4;

  TriangularSolve(const MatrixRef<const C>& a, batched::Op op) : a_(a), op_(op) {}

  /// B <- L^-1 B for the lower triangle L of op(A), whose diagonal counts as one if it is `unit`.
  void lower(bool unit, const MatrixRef<C>& b) {
    const index_t n = a_.rows;
    for (index_t j = 0; j < b.cols; j += columns) {
      const MatrixRef<C> panel = part(b, 0, j, n, std::min(columns, b.cols - j));
      for (index_t k = 0; k < n; k += width) {
        const index_t next = std::min(k + width, n);
        const MatrixRef<C> known =
            solve(panel, k, next, [&](const MatrixRef<C>& x) { solve_lower_tile(tile(k, next, k, next), unit, x); });
        for (index_t i = next; i < n; i += height()) take(panel, i, std::min(i + height(), n), k, known);
      }
    }
  }

  /// B <- U^-1 B for the upper triangle U.
  void upper(bool unit, const MatrixRef<C>& b) {
    for (index_t j = 0; j < b.cols; j += columns) {
      const MatrixRef<C> panel = part(b, 0, j, a_.rows, std::min(columns, b.cols - j));
      for (index_t next = a_.rows; next > 0;) {
        const index_t k = (next - 1) / width * width;
        const MatrixRef<C> known =
            solve(panel, k, next, [&](const MatrixRef<C>& x) { solve_upper_tile(tile(k, next, k, next), unit, x); });
        for (index_t i = 0; i < k; i += height()) take(panel, i, std::min(i + height(), k), k, known);
        next = k;
      }
    }
  }

 private:
  using Matrix = MatrixRef<const C>;

  /// Rows of op(A) that tile() serves at once.
  index_t height() const { return op_ == batched::Op::none ? a_.rows : width; }

  /// Rows k .. next - 1 of a panel of B, solved by f() in a copy that stays. why: columns that a power of two separates
  /// push each other out of the cache.
  template <class F>
  MatrixRef<C> solve(const MatrixRef<C>& panel, index_t k, index_t next, F&& f) {
    const MatrixRef<C> rows = part(panel, k, 0, next - k, panel.cols);
    const MatrixRef<C> copy{known_.data(), rows.rows, rows.cols, width};
    copy_matrix(MatrixRef<const C>{rows.data, rows.rows, rows.cols, rows.ld}, copy);
    f(copy);
    copy_matrix(MatrixRef<const C>{copy.data, copy.rows, copy.cols, copy.ld}, rows);
    return copy;
  }

  /// Rows i .. i_end - 1, columns k .. k_end - 1 of op(A). Valid until the next one.
  Matrix tile(index_t i, index_t i_end, index_t k, index_t k_end) {
    if (op_ == batched::Op::none) return part(a_, i, k, i_end - i, k_end - k);
    const bool conjugates = op_ == batched::Op::conjugate_transpose;
    const MatrixRef<C> copy{copy_.data(), i_end - i, k_end - k, width};
    for (index_t r = 0; r < copy.rows; ++r)
      for (index_t c = 0; c < copy.cols; ++c) copy(r, c) = conjugates ? conj(a_(k + c, i + r)) : a_(k + c, i + r);
    return {copy.data, copy.rows, copy.cols, copy.ld};
  }

  /// Rows i .. i_end - 1 of a panel take the rows from k on, which are known.
  void take(const MatrixRef<C>& panel, index_t i, index_t i_end, index_t k, const MatrixRef<C>& known) {
    subtract_product<T>(part(panel, i, 0, i_end - i, panel.cols), tile(i, i_end, k, k + known.rows),
                        Matrix{known.data, known.rows, known.cols, known.ld});
  }

  static void divide_row(C pivot, index_t k, const MatrixRef<C>& b) {
    const Divisor<C> divisor(pivot);
    for (index_t j = 0; j < b.cols; ++j) divisor.divide(1, b.column(j) + k);
  }

  static void solve_lower_tile(const Matrix& l, bool unit, const MatrixRef<C>& b) {
    for (index_t k = 0; k < l.rows; ++k) {
      if (!unit) divide_row(l(k, k), k, b);
      subtract_multiples(l.rows - k - 1, l.column(k) + k + 1, b.cols, b.ld, b.data + k, b.data + k + 1);
    }
  }

  static void solve_upper_tile(const Matrix& u, bool unit, const MatrixRef<C>& b) {
    for (index_t k = u.rows - 1; k >= 0; --k) {
      if (!unit) divide_row(u(k, k), k, b);
      subtract_multiples(k, u.column(k), b.cols, b.ld, b.data + k, b.data);
    }
  }

  Matrix a_;
  batched::Op op_;
  Tile<C, width> copy_;
  std::array<C, static_cast<std::size_t>(width* columns)> known_;
};

}  // namespace blockjacobi::detail
