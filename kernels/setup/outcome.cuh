#pragma once

#include "core/shared/scalar.hpp"

namespace blockjacobi::kernels {

/// What became of a block: info as BlockJacobi::info(), and the reciprocal condition of the equilibrated block.
template <class R>
struct Outcome {
  int info;
  R rcond;
};

/// 1 / (a b), 0 if that is not finite.
template <class R>
__device__ R reciprocal_condition(R norm, R inverse_norm) {
  const R rcond = R(1) / (norm * inverse_norm);
  return detail::finite(rcond) ? rcond : R(0);
}

/// The larger value; NaN if one of them is.
template <class R>
struct LargerOrNan {
  __device__ R operator()(R a, R b) const { return a > b || a != a ? a : b; }
};

}  // namespace blockjacobi::kernels
