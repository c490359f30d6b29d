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

/// The policies that go beyond a diagonal, carried out after the others have been inverted.
enum class Repair { shift, pseudo_inverse };

/// The shifts that are tried on a singular block, relative to the largest elements of the equilibrated block, which are
/// near 1: half of the digits remain of what it says. The last one exceeds its infinity norm more than tenfold.
template <class R>
BLOCKJACOBI_HD constexpr R first_shift();
template <>
BLOCKJACOBI_HD constexpr float first_shift<float>() {
  return 0x1p-11f;
}
template <>
BLOCKJACOBI_HD constexpr double first_shift<double>() {
  return 0x1p-26;
}
template <class R>
inline constexpr R shift_growth = 16;
template <class R>
inline constexpr R last_shift = 16384;

/// The diagonal element after the shift, away from zero. A row of zeros is shifted by 1.
template <class C>
BLOCKJACOBI_HD inline C shifted_diagonal(C diagonal, arithmetic_real_t<C> shift, bool row_is_zero) {
  using R = arithmetic_real_t<C>;
  if (row_is_zero) return diagonal + from_real<C>(R(1));
  if (is_zero(diagonal)) return from_real<C>(shift);
  return diagonal + (shift / modulus(diagonal)) * diagonal;
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

/// Between the exponents for a row and its column: with it on both sides a Hermitian block stays Hermitian, and no
/// element exceeds what the two allow.
BLOCKJACOBI_HD inline int mean_exponent(int row, int column) { return (row + column) >> 1; }

/// Pivot growth of a block from its largest element and that of U; 1 for a block of zeros.
template <class R>
BLOCKJACOBI_HD inline R growth_between(R before, R after) {
  return before == R(0) ? R(1) : after / before;
}

/// info values of BlockJacobi::info().
BLOCKJACOBI_HD inline int info_ill_conditioned(int n) { return n + 1; }
BLOCKJACOBI_HD inline int info_non_finite(int i, int j, int n) { return -(1 + i + j * n); }

}  // namespace blockjacobi::detail
