#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::detail {

// The rule of Merge::coupled. Decisions are the same on host and device: what is rounded here is rounded by IEEE
// operations in one order, and hypot() is not among them.

/// |a| in double precision, without overflow on the way.
BLOCKJACOBI_HD inline double magnitude(float a) { return fabs(static_cast<double>(a)); }
BLOCKJACOBI_HD inline double magnitude(double a) { return fabs(a); }
BLOCKJACOBI_HD inline double magnitude(Complex<float> a) {
  const Complex<double> wide = widen(a);
  return sqrt(fma(wide.re, wide.re, wide.im * wide.im));
}
BLOCKJACOBI_HD inline double magnitude(Complex<double> a) {
  const double larger = fmax(fabs(a.re), fabs(a.im));
  if (!(larger > 0.0 && finite(larger))) return abs1(a);  // exact; NaN where there is one
  const int e = exponent(larger);
  const Complex<double> scaled = scale_by_power(a, -e);
  return scale_by_power(sqrt(fma(scaled.re, scaled.re, scaled.im * scaled.im)), e);
}

/// Whether an entry of magnitude `value` couples two blocks strongly, from the roots of the largest magnitudes in the
/// block of the lower and in that of the higher number: the product of two roots can not overflow. False for NaN.
BLOCKJACOBI_HD inline bool couples(double value, double low_root, double high_root, double threshold) {
  return value > 0.0 && value >= threshold * low_root * high_root;
}

}  // namespace blockjacobi::detail
