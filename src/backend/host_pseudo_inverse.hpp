#pragma once

#include "backend/host_lu.hpp"
#include "backend/host_qr.hpp"

#include <numeric>

namespace blockjacobi::detail {

/// The pseudo-inverse of one matrix of order n by a complete orthogonal decomposition. `work` holds n^2 elements.
template <class C>
class PseudoInverse {
  using R = arithmetic_real_t<C>;

 public:
  PseudoInverse(index_t n, C* work) : n_(n), w_{work, n, n, n} {}

  /// Writes x, which may be the storage of a. Returns the numerical rank, the number of |r_jj| above rtol |r_11| and
  /// `least`, counted as largest_rank if it is above, or -1 and NaN in x if a is not finite.
  index_t run(const MatrixRef<const C>& a, double rtol, const MatrixRef<C>& x, index_t largest_rank = max_block_size,
              double least = 0.0) {
    copy_matrix(a, w_);
    if (!all_finite()) {
      fill_matrix(x, quiet_nan<C>());
      return -1;
    }
    const int scale = equilibrating_exponent(largest_abs1(n_ * n_, w_.data));
    for (index_t i = 0; i < n_ * n_; ++i) w_.data[i] = scale_by_power(w_.data[i], scale);
    factor();
    rank_ = std::min(largest_rank, numerical_rank(rtol > 0 ? rtol : n_ * static_cast<double>(machine_epsilon<R>()),
                                                  std::ldexp(least, scale)));
    reduce_rows();
    assemble(x);
    for (index_t j = 0; j < n_; ++j)
      for (index_t i = 0; i < n_; ++i) x(i, j) = scale_by_power(x(i, j), scale);
    return rank_;
  }

 private:
  static std::size_t at(index_t i) { return static_cast<std::size_t>(i); }
  MatrixRef<C> trailing_columns(index_t rows) const { return part(w_, 0, rank_, rows, n_ - rank_); }

  bool all_finite() const {
    return std::all_of(w_.data, w_.data + offset_t{n_} * n_, [](C element) { return finite(element); });
  }

  /// A P = Q R: R and the reflectors in w, P in permutation. Norms are computed anew in every step, in double: no
  /// cancellation to guard against, at half the cost of the factorization itself.
  void factor() {
    std::iota(permutation_.begin(), permutation_.begin() + n_, 0);
    for (index_t k = 0; k < n_; ++k) {
      const index_t pivot = longest_column(k);
      if (pivot != k) {
        std::swap_ranges(w_.column(k), w_.column(k) + n_, w_.column(pivot));
        std::swap(permutation_[at(k)], permutation_[at(pivot)]);
      }
      C* const v = w_.column(k) + k;
      tau_[at(k)] = make_reflector(n_ - k, v);
      reflect_columns(v, conj(tau_[at(k)]), part(w_, k, k + 1, n_ - k, n_ - k - 1));
    }
  }

  index_t longest_column(index_t k) const {
    index_t longest = k;
    double largest = -1;
    for (index_t j = k; j < n_; ++j) {
      const C* const column = w_.column(j);
      double sum = 0;
#pragma omp simd reduction(+ : sum)
      for (index_t i = k; i < n_; ++i) sum += norm2(widen(column[i]));
      if (sum > largest) {
        largest = sum;
        longest = j;
      }
    }
    return longest;
  }

  index_t numerical_rank(double rtol, double least) const {
    const double bound = std::max(rtol * static_cast<double>(modulus(w_(0, 0))), least);
    index_t rank = 0;
    for (index_t j = 0; j < n_; ++j) rank += static_cast<double>(modulus(w_(j, j))) > bound;
    return rank;
  }

  /// [R11 R12] G_r ... G_1 = [T 0]: the reflector G_i combines column i with the columns behind the rank, to clear the
  /// tail of row i. The tails of its vectors take the place of R12.
  void reduce_rows() {
    const index_t tail = n_ - rank_;
    if (tail == 0) return;
    std::array<C, max_block_size> v;
    for (index_t i = rank_ - 1; i >= 0; --i) {
      v[0] = conj(w_(i, i));
      for (index_t k = 0; k < tail; ++k) v[at(k + 1)] = conj(w_(i, rank_ + k));
      const C tau = row_tau_[at(i)] = make_reflector(tail + 1, v.data());
      w_(i, i) = v[0];
      for (index_t k = 0; k < tail; ++k) w_(i, rank_ + k) = v[at(k + 1)];
      reflect_from_right(w_.column(i), trailing_columns(i), v.data() + 1, tau);
    }
  }

  /// [x Y] <- [x Y] (I - tau [1; v] [1; v]^H).
  static void reflect_from_right(C* x, const MatrixRef<C>& y, const C* v, C tau) {
    std::array<C, max_block_size> sum;
    std::copy_n(x, y.rows, sum.data());
    for (index_t k = 0; k < y.cols; ++k) subtract_multiple(y.rows, y.column(k), -v[k], sum.data());
    subtract_multiple(y.rows, sum.data(), tau, x);
    for (index_t k = 0; k < y.cols; ++k) subtract_multiple(y.rows, sum.data(), tau * conj(v[k]), y.column(k));
  }

  /// X = P G_r ... G_1 [T^-1 0; 0 0] Q^H.
  void assemble(const MatrixRef<C>& x) {
    fill_matrix(x, C{});
    for (index_t j = 0; j < rank_; ++j) std::copy_n(w_.column(j), j + 1, x.column(j));
    invert_upper(x.data, x.ld, rank_);
    for (index_t k = rank_ - 1; k >= 0; --k)
      reflect_from_right(x.column(k), part(x, 0, k + 1, rank_, n_ - k - 1), w_.column(k) + k + 1, conj(tau_[at(k)]));
    for (index_t i = 0; i < rank_ && rank_ < n_; ++i) reflect_rows(i, x);
    std::array<C, max_block_size> column;
    for (index_t j = 0; j < n_; ++j) {
      std::copy_n(x.column(j), n_, column.data());
      for (index_t i = 0; i < n_; ++i) x(permutation_[at(i)], j) = column[at(i)];
    }
  }

  /// X <- G_i X, which touches row i and the rows behind the rank.
  void reflect_rows(index_t i, const MatrixRef<C>& x) const {
    std::array<C, max_block_size> v;
    const index_t tail = n_ - rank_;
    for (index_t k = 0; k < tail; ++k) v[at(k)] = w_(i, rank_ + k);
    for (index_t j = 0; j < n_; ++j) {
      C* const rows = x.column(j) + rank_;
      const C s = row_tau_[at(i)] * (x(i, j) + column_dot(tail, v.data(), rows));
      x(i, j) -= s;
      subtract_multiple(tail, v.data(), s, rows);
    }
  }

  index_t n_;
  index_t rank_ = 0;
  MatrixRef<C> w_;
  std::array<index_t, max_block_size> permutation_;
  std::array<C, max_block_size> tau_, row_tau_;
};

}  // namespace blockjacobi::detail
