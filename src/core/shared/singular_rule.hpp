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

/// Power-of-two scale exponent that brings a row or column with largest element `largest` near 1; 0 for a zero or
/// non-finite row, which the elimination then reports.
template <class R>
BLOCKJACOBI_HD inline int equilibrating_exponent(R largest) {
  return largest > R(0) && finite(largest) ? -exponent(largest) : 0;
}

/// info values of BlockJacobi::info().
BLOCKJACOBI_HD inline int info_ill_conditioned(int n) { return n + 1; }
BLOCKJACOBI_HD inline int info_non_finite(int i, int j, int n) { return -(1 + i + j * n); }

}  // namespace blockjacobi::detail
