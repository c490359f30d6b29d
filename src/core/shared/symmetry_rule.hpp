#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::detail {

template <class R>
BLOCKJACOBI_HD inline bool is_same(R a, R b) {
  return a == b;
}
template <class R>
BLOCKJACOBI_HD inline bool is_same(Complex<R> a, Complex<R> b) {
  return a.re == b.re && a.im == b.im;
}

/// Whether two elements are the same as far as SparseMatrixOptions::symmetry_tolerance goes; a NaN is equal to nothing.
template <class C>
BLOCKJACOBI_HD inline bool is_equal_within(C a, C b, double tolerance) {
  if (is_same(a, b)) return true;
  const auto left = static_cast<double>(modulus(a)), right = static_cast<double>(modulus(b));
  return static_cast<double>(modulus(a - b)) <= tolerance * (left > right ? left : right);
}

}  // namespace blockjacobi::detail
