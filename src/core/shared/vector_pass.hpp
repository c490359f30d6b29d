#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// The scalar step that a pass ends with; scalar_steps.hpp has them.
enum class ScalarStep : int;

/// A multiple of a vector in a sum; the coefficient is in backend memory, and without one it is 1.
template <class C>
struct VectorTerm {
  const C* x = nullptr;
  const C* coefficient = nullptr;
};

/// y = the sum of the terms, of which there is one at least; those behind it that have no vector count as none.
template <class C>
struct VectorSum {
  C* y = nullptr;
  VectorTerm<C> terms[3] = {};
};

/// x^H y.
template <class C>
struct VectorDot {
  const C* x = nullptr;
  const C* y = nullptr;
};

/// One pass over n-vectors in backend memory: all sums are taken of what was there before any is assigned, so that
/// vectors may be exchanged and a sum may be one of its own terms; then the dots of what is there now. What is left
/// empty is none. C is the compute scalar.
template <class C>
struct VectorPass {
  static constexpr int max_sums = 4;
  static constexpr int max_terms = 3;
  static constexpr int max_dots = 2;

  index_t n = 0;
  VectorSum<C> sums[max_sums] = {};
  VectorDot<C> dots[max_dots] = {};
};

}  // namespace blockjacobi::detail
