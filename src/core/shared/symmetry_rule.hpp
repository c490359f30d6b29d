#pragma once

#include "core/shared/coupling.hpp"

namespace blockjacobi::detail {

// The rule of SparseMatrix::symmetry(), with magnitudes that are the same on host and device, so that both decide alike
// at the edge of the tolerance too.

BLOCKJACOBI_HD inline bool is_same(double a, double b) { return a == b; }
BLOCKJACOBI_HD inline bool is_same(Complex<double> a, Complex<double> b) { return a.re == b.re && a.im == b.im; }

/// sqrt(|a_ii a_jj|), by the roots, whose product cannot leave the range.
template <class C>
BLOCKJACOBI_HD inline double geometric_mean(C a_ii, C a_jj) {
  return sqrt(magnitude(a_ii)) * sqrt(magnitude(a_jj));
}

/// Of a_ij and what stands opposite; mean_of_diagonal() is geometric_mean(a_ii, a_jj), asked for where their own
/// magnitudes do not decide. A NaN is equal to nothing, an infinity to itself, and neither licenses a difference.
template <class C, class Mean>
BLOCKJACOBI_HD inline bool is_equal_within(C a, C b, double tolerance, const Mean& mean_of_diagonal) {
  const auto left = widen(a), right = widen(b);
  if (is_same(left, right)) return true;
  if (!(tolerance > 0.0)) return false;
  const double difference = magnitude(left - right), larger = fmax(magnitude(left), magnitude(right));
  if (!finite(larger)) return false;
  if (difference <= tolerance * larger) return true;
  const double mean = mean_of_diagonal();
  return finite(mean) && difference <= tolerance * mean;
}

/// What the pairs (a_ij, a_ji) looked at so far leave possible.
template <class C>
struct PossibleSymmetry {
  bool symmetric = true;
  bool hermitian = Arithmetic<C>::is_complex;

  template <class Mean>
  BLOCKJACOBI_HD void look_at(C a, C opposite, double tolerance, const Mean& mean_of_diagonal) {
    symmetric = symmetric && is_equal_within(a, opposite, tolerance, mean_of_diagonal);
    hermitian = hermitian && is_equal_within(a, conj(opposite), tolerance, mean_of_diagonal);
  }
  BLOCKJACOBI_HD bool none() const { return !symmetric && !hermitian; }
};

}  // namespace blockjacobi::detail
