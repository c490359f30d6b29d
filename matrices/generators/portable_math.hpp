#pragma once

#include <cmath>

namespace blockjacobi::matrices::detail {

// Elementary functions from basic arithmetic. Those of libm differ in the last bit from machine to machine, and the
// generated matrices must not.

inline constexpr double ln_2 = 0x1.62e42fefa39efp-1;

/// 2^x, to a few units in the last place.
inline double portable_exp2(double x) {
  const double nearest = std::floor(x + 0.5);
  const double r = (x - nearest) * ln_2;
  double series = 1.0;
  for (int k = 14; k >= 1; --k) series = 1.0 + r / k * series;
  return std::ldexp(series, static_cast<int>(nearest));
}

/// log2(x) for finite x > 0, from the series of atanh.
inline double portable_log2(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0x1.6a09e667f3bcdp-1) {  // sqrt(1/2), so that the series runs over |s| <= 0.172
    mantissa *= 2.0;
    --exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  double series = 0.0;
  for (int k = 25; k >= 1; k -= 2) series = 1.0 / k + s * s * series;
  return exponent + 2.0 * s * series / ln_2;
}

}  // namespace blockjacobi::matrices::detail
