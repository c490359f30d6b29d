#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::detail {

/// Unit roundoff as LAPACK's epsilon('P'): spacing of 1.
template <class R>
BLOCKJACOBI_HD constexpr R machine_epsilon();
template <>
BLOCKJACOBI_HD constexpr float machine_epsilon<float>() {
  return 1.1920928955078125e-07f;
}
template <>
BLOCKJACOBI_HD constexpr double machine_epsilon<double>() {
  return 2.220446049250313e-16;
}

/// A block of order n counts as singular below this reciprocal condition number (after equilibration).
template <class R>
BLOCKJACOBI_HD inline R singular_threshold(int n) {
  return R(10) * R(n) * machine_epsilon<R>();
}

/// SingularPolicy as the kernels see it: `fail` stores I so that apply stays finite.
enum class Fallback { identity, scalar_jacobi };

/// The diagonal element that replaces 1 / a_ii in a block that could not be inverted.
template <class T>
BLOCKJACOBI_HD inline T fallback_diagonal(Fallback fallback, T diagonal) {
  const T one = from_real<T>(arithmetic_real_t<T>(1));
  if (fallback == Fallback::identity || !finite(diagonal) || is_zero(diagonal)) return one;
  const T inverse = reciprocal(diagonal);
  return finite(inverse) ? inverse : one;
}

/// Below the exponent of every number, also after scaling.
inline constexpr int no_exponent = -(1 << 20);

/// Exponent of a magnitude |a|_1; no_exponent for 0 and NaN. |a|_1 of finite complex numbers may overflow.
template <class R>
BLOCKJACOBI_HD inline int magnitude_exponent(R magnitude) {
  if (!(magnitude > R(0))) return no_exponent;
  return finite(magnitude) ? exponent(magnitude) : (sizeof(R) == sizeof(float) ? 128 : 1024);
}

/// Exponent of the power of two that brings a row or column near 1 whose largest element has the exponent `largest`; 0
/// for one without elements but zeros, which the elimination then reports.
BLOCKJACOBI_HD inline int equilibrating_exponent(int largest) { return largest > no_exponent / 2 ? -largest : 0; }
/// The same for the magnitude of the largest element.
template <class R>
BLOCKJACOBI_HD inline int equilibrating_exponent(R largest) {
  return equilibrating_exponent(magnitude_exponent(largest));
}

/// info values of BlockJacobi::info().
BLOCKJACOBI_HD inline int info_ill_conditioned(int n) { return n + 1; }
BLOCKJACOBI_HD inline int info_non_finite(int i, int j, int n) { return -(1 + i + j * n); }

}  // namespace blockjacobi::detail
