#pragma once

#include "core/shared/scalar.hpp"

#include <cstddef>
#include <limits>

namespace blockjacobi::detail {

/// y -= x s.
template <class C>
inline void subtract_multiple(int n, const C* x, C s, C* y) {
  for (int i = 0; i < n; ++i) y[i] -= x[i] * s;
}

/// y_j -= x s_j for `columns` columns y_j and numbers s_j, ld apart; four at a time, so that x is loaded once for them.
template <class C>
inline void subtract_multiples(int n, const C* x, int columns, std::ptrdiff_t ld, const C* s, C* y) {
  for (; columns >= 4; columns -= 4, s += 4 * ld, y += 4 * ld) {
    const C s0 = s[0], s1 = s[ld], s2 = s[2 * ld], s3 = s[3 * ld];
    C *const y1 = y + ld, *const y2 = y1 + ld, *const y3 = y2 + ld;
#pragma omp simd
    for (int i = 0; i < n; ++i) {
      const C a = x[i];
      y[i] -= a * s0;
      y1[i] -= a * s1;
      y2[i] -= a * s2;
      y3[i] -= a * s3;
    }
  }
  for (; columns > 0; --columns, s += ld, y += ld) subtract_multiple(n, x, *s, y);
}

/// x^H y, in the working precision.
template <class R>
inline R column_dot(int n, const R* x, const R* y) {
  // So many sums that additions do not wait for each other.
  constexpr int sums = 16;
  R part[sums] = {};
  int i = 0;
  for (; i + sums <= n; i += sums) {
#pragma omp simd
    for (int k = 0; k < sums; ++k) part[k] += x[i + k] * y[i + k];
  }
  R sum = 0;
  if (i > 0)
    for (int k = 0; k < sums; ++k) sum += part[k];
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}
template <class R>
inline Complex<R> column_dot(int n, const Complex<R>* x, const Complex<R>* y) {
  R re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
  for (int i = 0; i < n; ++i) {
    re += x[i].re * y[i].re + x[i].im * y[i].im;
    im += x[i].re * y[i].im - x[i].im * y[i].re;
  }
  return {re, im};
}

/// The largest |Re| + |Im|; NaN does not count.
template <class C>
inline arithmetic_real_t<C> largest_abs1(int n, const C* x) {
  arithmetic_real_t<C> largest = 0;
  for (int i = 0; i < n; ++i) largest = abs1(x[i]) > largest ? abs1(x[i]) : largest;
  return largest;
}

/// Neither NaN nor Inf among n numbers.
template <class C>
inline bool all_finite(int n, const C* x) {
  bool all = true;
  for (int i = 0; i < n; ++i) all &= finite(x[i]);
  return all;
}

/// Quiet NaN in every part.
template <class C>
inline C quiet_nan() {
  using R = arithmetic_real_t<C>;
  constexpr R nan = std::numeric_limits<R>::quiet_NaN();
  if constexpr (Arithmetic<C>::is_complex)
    return {nan, nan};
  else
    return nan;
}

/// Multiplication with 1 / p that stays exact to rounding where 1 / p itself would overflow or be subnormal.
template <class C>
class Divisor {
  using R = arithmetic_real_t<C>;

 public:
  explicit Divisor(C p) {
    constexpr R smallest = 4 * std::numeric_limits<R>::min(), largest = R(1) / smallest;
    const R size = abs1(p);
    if (size > 0 && !(size >= smallest && size <= largest)) exponent_ = -exponent(size);
    reciprocal_ = reciprocal(scale_by_power(p, exponent_));
  }

  void divide(int n, C* x) const {
    for (int i = 0; i < n; ++i) x[i] = x[i] * reciprocal_;
    if (exponent_ == 0) return;
    for (int i = 0; i < n; ++i) x[i] = scale_by_power(x[i], exponent_);
  }

 private:
  int exponent_ = 0;
  C reciprocal_;
};

}  // namespace blockjacobi::detail
