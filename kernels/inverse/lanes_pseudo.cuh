#pragma once

#include "core/shared/singular_rule.hpp"
#include "kernels/qr/lanes.cuh"
#include "kernels/setup/outcome.cuh"

namespace blockjacobi::kernels {

/// The pseudo-inverse of a square tile by a complete orthogonal decomposition: A P = Q R, [R11 R12] = [T 0] Z,
/// X = P Z^H [T^-1 0; 0 0] Q^H. Each lane computes one column of X on its own once the decomposition is there; lanes
/// behind the matrix do the same in columns of the tile that nobody uses.
template <int W, class C>
class LanesPseudoInverse {
  using Real = detail::arithmetic_real_t<C>;
  using Tile = SharedTile<W, C>;

 public:
  /// `x` holds A and takes its pseudo-inverse; `work` is of the same shape.
  __device__ LanesPseudoInverse(const Tile& x, const Tile& work)
      : x_(x), w_(work), lanes_(x.lanes), own_(x.lanes.rank), n_(x.rows) {}

  /// Returns the numerical rank r, the number of |r_jj| > rtol |r_11|, or -1 if A is not finite: x is unspecified then.
  __device__ int run(double rtol) {
    bool all_finite = true;
    Real largest = 0;
    for (int i = 0; x_.owns_column() && i < n_; ++i) {
      all_finite = all_finite && detail::finite(x_.at(i, own_));
      largest = fmax(largest, detail::abs1(x_.at(i, own_)));
    }
    if (!lanes_.all(all_finite)) return -1;
    const int exponent = detail::equilibrating_exponent(lanes_.reduce(largest, LargerOrNan<Real>{}));
    scale(exponent);
    factor();
    rank_ = numerical_rank(rtol > 0 ? rtol : n_ * static_cast<double>(detail::machine_epsilon<Real>()));
    for (int i = rank_ - 1; i >= 0 && rank_ < n_; --i) reduce_row(i);
    solve_column();
    scale(exponent);
    return rank_;
  }

  /// The row of the tile that is row own of X.
  __device__ int place() const { return place_; }

 private:
  __device__ C& y(int i) const { return x_.at(i, own_); }

  __device__ void scale(int exponent) const {
    for (int i = 0; i < n_; ++i) y(i) = detail::scale_by_power(y(i), exponent);
  }

  /// A P = Q R in w_, the longest remaining column first. Lane j keeps the place of column j, and tau_j.
  __device__ void factor() {
    LanesQr<W, C> qr(x_);
#pragma unroll 1
    for (int k = 0; k < n_; ++k) {
      const PivotCandidate<double> own{qr.remains() ? qr.remaining_squares() : -1.0, own_};
      const int p = best_pivot(lanes_, own).order;
      const C tau = qr.step(k, p);
      if (own_ == k) tau_ = tau;
      if (own_ == p) place_ = k;
    }
    lanes_.sync();
    if (x_.owns_column())
      for (int i = 0; i < n_; ++i) w_.at(i, place_) = y(i);
    lanes_.sync();
  }

  __device__ int numerical_rank(double rtol) const {
    const bool counts = x_.owns_column() && static_cast<double>(detail::modulus(w_.at(own_, own_))) >
                                                rtol * static_cast<double>(detail::modulus(w_.at(0, 0)));
    return lanes_.reduce(counts ? 1 : 0, [](int a, int b) { return a + b; });
  }

  /// The reflector G_i, which combines column i with the columns behind the rank to clear the tail of row i. The tail
  /// of its vector takes the place of that of the row; lane i keeps its tau.
  __device__ void reduce_row(int i) {
    const bool in_tail = rank_ + own_ < n_;
    const C x = in_tail ? detail::conj(w_.at(i, rank_ + own_)) : C{};
    const C first = detail::conj(w_.at(i, i));
    const unsigned word = max(magnitude_word(x), magnitude_word(first));
    const auto scale = NormScale<Real>::of(lanes_.reduce(word, [](unsigned a, unsigned b) { return a > b ? a : b; }));
    const C scaled_x = scaled(x, scale.power);
    const Real squares = lanes_.reduce(detail::norm2(scaled_x), [](Real a, Real b) { return a + b; });
    const auto reflector =
        Reflector<C>::make(scaled(first, scale.power), squares, lanes_.all(detail::is_zero(scaled_x)));
    lanes_.sync();  // the row is read
    if (in_tail) w_.at(i, rank_ + own_) = scaled_x * reflector.scale;
    if (own_ == 0) w_.at(i, i) = detail::from_real<C>(scaled(reflector.beta, scale.inverse));
    if (own_ == i) row_tau_ = reflector.tau;
    lanes_.sync();
    if (own_ < i) reflect_own_row(i, reflector.tau);
    lanes_.sync();
  }

  /// Row own_ of R times G_i.
  __device__ void reflect_own_row(int i, C tau) const {
    C sum = w_.at(own_, i);
    for (int j = rank_; j < n_; ++j) sum = fused_subtract(sum, -w_.at(own_, j), w_.at(i, j));
    const C t = tau * sum;
    w_.at(own_, i) -= t;
    for (int j = rank_; j < n_; ++j) w_.at(own_, j) = fused_subtract(w_.at(own_, j), t, detail::conj(w_.at(i, j)));
  }

  /// Column own_ of Z^H [T^-1 0; 0 0] Q^H.
  __device__ void solve_column() const {
    for (int i = 0; i < n_; ++i) y(i) = detail::from_real<C>(i == own_ ? Real(1) : Real(0));
    for (int k = 0; k < rank_; ++k) reflect(k, detail::conj(lanes_.broadcast(tau_, k)));
    for (int k = rank_ - 1; k >= 0; --k) {
      const C y_k = Divisor<C>(w_.at(k, k)).divide(y(k));
      for (int i = 0; i < k; ++i) y(i) = fused_subtract(y(i), w_.at(i, k), y_k);
      y(k) = y_k;
    }
    for (int i = rank_; i < n_; ++i) y(i) = C{};
    for (int i = 0; i < rank_ && rank_ < n_; ++i) reflect_tail(i, lanes_.broadcast(row_tau_, i));
  }

  /// y <- (I - tau v v^H) y for the reflector of column k.
  __device__ void reflect(int k, C tau) const {
    C sum = y(k);
    for (int i = k + 1; i < n_; ++i) sum = fused_subtract(sum, -detail::conj(w_.at(i, k)), y(i));
    const C s = tau * sum;
    y(k) -= s;
    for (int i = k + 1; i < n_; ++i) y(i) = fused_subtract(y(i), w_.at(i, k), s);
  }

  /// y <- G_i y, which touches row i and the rows behind the rank.
  __device__ void reflect_tail(int i, C tau) const {
    C sum = y(i);
    for (int j = rank_; j < n_; ++j) sum = fused_subtract(sum, -detail::conj(w_.at(i, j)), y(j));
    const C s = tau * sum;
    y(i) -= s;
    for (int j = rank_; j < n_; ++j) y(j) = fused_subtract(y(j), w_.at(i, j), s);
  }

  SharedTile<W, C> x_, w_;
  Lanes<W> lanes_;
  int own_;
  int n_;
  int rank_ = 0;
  int place_ = 0;
  C tau_{}, row_tau_{};
};

}  // namespace blockjacobi::kernels
