#pragma once

#include "kernels/krylov/policy.hpp"

#include <blockjacobi/types.hpp>

#include <algorithm>

namespace blockjacobi::kernels {

/// Thread blocks for one element a thread.
inline unsigned elementwise_ctas(index_t n) {
  constexpr offset_t threads = vector_policy.threads;
  return static_cast<unsigned>((static_cast<offset_t>(n) + threads - 1) / threads);
}

/// Thread blocks of a reduction, which strides over the elements; one at least, since it also runs the scalar step.
inline unsigned reduction_ctas(index_t n) {
  return std::clamp(elementwise_ctas(n), 1u, static_cast<unsigned>(vector_policy.reduction_ctas));
}

}  // namespace blockjacobi::kernels
