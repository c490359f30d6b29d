#pragma once

#include "core/shared/coupling.hpp"

namespace blockjacobi::detail {

// The rule of SparseMatrix::symmetry(), with magnitudes that are the same on host and device, so that both decide alike
// at the edge of the tolerance too.

BLOCKJACOBI_HD inline bool is_same(double a, double b) { return a == b; }
BLOCKJACOBI_HD inline bool is_same(Complex<double> a, Complex<double> b) { return a.re == b.re && a.im == b.im; }

/// A NaN is equal to nothing, an infinity to itself.
template <class C>
BLOCKJACOBI_HD inline bool is_equal_within(C a, C b, double tolerance) {
  const auto left = widen(a), right = widen(b);
  if (is_same(left, right)) return true;
  return magnitude(left - right) <= tolerance * fmax(magnitude(left), magnitude(right));
}

/// What the pairs (a_ij, a_ji) looked at so far leave possible.
template <class C>
struct PossibleSymmetry {
  bool symmetric = true;
  bool hermitian = Arithmetic<C>::is_complex;

  BLOCKJACOBI_HD void look_at(C a, C opposite, double tolerance) {
    symmetric = symmetric && is_equal_within(a, opposite, tolerance);
    hermitian = hermitian && is_equal_within(a, conj(opposite), tolerance);
  }
  BLOCKJACOBI_HD bool none() const { return !symmetric && !hermitian; }
};

}  // namespace blockjacobi::detail
