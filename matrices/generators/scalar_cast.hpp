#pragma once

#include <blockjacobi/types.hpp>

#include <complex>
#include <type_traits>

namespace blockjacobi::matrices::detail {

/// Generators compute in double precision and round once at the end.
template <Scalar T>
using Wide = std::conditional_t<is_complex<T>, std::complex<double>, double>;

template <Scalar T>
T narrow(const Wide<T>& value) {
  return static_cast<T>(value);
}

/// a + b i; b is 0 for a real scalar.
template <Scalar T>
Wide<T> wide(double a, double b) {
  if constexpr (is_complex<T>) {
    return {a, b};
  } else {
    return a;
  }
}

inline double conjugate(double a) { return a; }
inline std::complex<double> conjugate(const std::complex<double>& a) { return std::conj(a); }

/// The point ((1 - t^2) + 2 t i) / (1 + t^2) of the unit circle, at the angle 2 atan(t).
inline std::complex<double> unit_circle(double t) {
  const double square = t * t;
  return {(1.0 - square) / (1.0 + square), 2.0 * t / (1.0 + square)};
}

}  // namespace blockjacobi::matrices::detail
