#pragma once

#include "backend/host_equilibration.hpp"
#include "backend/host_extract.hpp"
#include "backend/host_invert.hpp"
#include "backend/host_pseudo_inverse.hpp"
#include "core/compute_views.hpp"
#include "core/shared/rounding_scales.hpp"

#include <array>

namespace blockjacobi::detail {

/// What takes the place of the inverse of one block that set-up found singular, beyond a diagonal; see SingularPolicy.
template <Scalar T>
class BlockRepair {
  using C = compute_t<T>;
  using R = real_t<T>;

 public:
  /// `x`: the place of the inverse; `work`: n^2 elements; `rounding_scales` of the rows, or null.
  BlockRepair(const C* values, const PositionMapView& map, offset_t slot, int n, C* x, C* work,
              const R* rounding_scales)
      : values_(values), map_(map), slot_(slot), n_(n), x_(x), work_(work), rounding_scales_(rounding_scales) {}

  /// Whether the inverse, which is in its place, is large beside the rounding scales; `rcond` is set then.
  bool is_rounding(R& rcond) const {
    double norm = 0;
    for (int j = 0; j < n_; ++j) {
      double sum = 0;
      for (int i = 0; i < n_; ++i)
        sum += static_cast<double>(modulus(scale_by_power(
            at(i, j), -rounding_exponent(rounding_scales_[i]) - rounding_exponent(rounding_scales_[j]))));
      if (norm == norm && !(sum <= norm)) norm = sum;  // keeps NaN
    }
    if (1.0 / norm >= static_cast<double>(rounding_threshold<R>())) return false;
    rcond = norm == norm ? static_cast<R>(1.0 / norm) : R(0);
    return true;
  }

  void run(Repair repair, R rcond) {
    // A block whose rcond suffices is one whose inverse overflows.
    const bool repaired =
        rcond < singular_threshold<R>(n_) && (repair == Repair::shift ? invert_shifted() : invert_pseudo());
    if (!repaired) store_scalar_jacobi();
  }

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  C& at(int i, int j) const { return x_[i + j * n_]; }
  template <class Visit>
  void for_each_element(Visit visit) const {
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i < n_; ++i) visit(i, j);
  }

  bool invert_shifted() {
    for (R shift = first_shift<R>(); shift <= last_shift<R>; shift *= shift_growth<R>) {
      extract_block(values_, map_, slot_, n_, x_);
      find_scales();
      scale_block();
      for (int i = 0; i < n_; ++i) at(i, i) = shifted_diagonal(at(i, i), shift, row_is_zero_[index(i)]);
      const R norm = infinity_norm();
      if (paneled_gauss_jordan(public_cast(x_), n_) != 0) continue;
      if (R(1) / (norm * infinity_norm()) >= singular_threshold<R>(n_)) return undo_scaling();
    }
    return false;
  }

  bool invert_pseudo() {
    extract_block(values_, map_, slot_, n_, x_);
    double least = 0;
    if (rounding_scales_ == nullptr) {
      equilibrate_thoroughly(x_, n_, row_.data(), column_.data());
    } else {
      for (int i = 0; i < n_; ++i) row_[index(i)] = column_[index(i)] = rounding_exponent(rounding_scales_[i]);
      // Where an eigenvalue is rounding, sqrt(n) times as much may be left of a pivot of QR.
      least = std::sqrt(n_) * static_cast<double>(rounding_threshold<R>());
    }
    const bool hermitian = is_hermitian();
    scale_block();
    const MatrixRef<C> x{x_, n_, n_, n_};
    PseudoInverse<C>(n_, work_).run({x_, n_, n_, n_}, singular_threshold<R>(n_), x, n_ - 1, least);
    const bool all_finite = undo_scaling();
    if (hermitian) make_hermitian();
    return all_finite;
  }

  void find_scales() {
    std::fill_n(row_is_zero_.begin(), n_, true);
    for_each_element([&](int i, int j) { row_is_zero_[index(i)] = row_is_zero_[index(i)] && is_zero(at(i, j)); });
    equilibrate_thoroughly(x_, n_, row_.data(), column_.data());
  }

  bool is_hermitian() const {
    for (int j = 0; j < n_; ++j)
      for (int i = 0; i <= j; ++i)
        if (!is_zero(at(i, j) - conj(at(j, i)))) return false;
    return true;
  }

  /// X = (X + X^H) / 2: the pseudo-inverse of a Hermitian block with the same scales for rows and columns, but for
  /// rounding and for the small r_jj left out, whose rows and columns need not correspond.
  void make_hermitian() const {
    for_each_element([&](int i, int j) {
      if (i < j) return;
      const C mean = hermitian_mean(at(i, j), at(j, i));
      at(i, j) = mean;
      at(j, i) = conj(mean);
    });
  }

  void scale_block() const {
    for_each_element([&](int i, int j) { at(i, j) = scale_by_power(at(i, j), row_[index(i)] + column_[index(j)]); });
  }

  /// False if an element is not finite then.
  bool undo_scaling() const {
    bool all_finite = true;
    for_each_element([&](int i, int j) {
      at(i, j) = scale_by_power(at(i, j), column_[index(i)] + row_[index(j)]);
      all_finite = all_finite && finite(at(i, j));
    });
    return all_finite;
  }

  R infinity_norm() const {
    std::array<R, max_block_size> sum;
    std::fill_n(sum.begin(), n_, R(0));
    for_each_element([&](int i, int j) { sum[index(i)] += modulus(at(i, j)); });
    R norm = 0;
    for (int i = 0; i < n_; ++i)
      if (norm == norm && !(sum[index(i)] <= norm)) norm = sum[index(i)];  // keeps NaN
    return norm;
  }

  void store_scalar_jacobi() {
    extract_block(values_, map_, slot_, n_, x_);
    std::array<C, max_block_size> diagonal;
    for (int i = 0; i < n_; ++i) diagonal[index(i)] = at(i, i);
    std::fill_n(x_, n_ * n_, C{});
    for (int i = 0; i < n_; ++i) at(i, i) = fallback_diagonal(Fallback::scalar_jacobi, diagonal[index(i)]);
  }

  const C* values_;
  const PositionMapView& map_;
  offset_t slot_;
  int n_;
  C* x_;
  C* work_;
  const R* rounding_scales_;
  std::array<int, max_block_size> row_, column_;
  std::array<bool, max_block_size> row_is_zero_;
};

}  // namespace blockjacobi::detail
