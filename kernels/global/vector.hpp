#pragma once

#include "kernels/tuning/krylov.hpp"

#include <blockjacobi/types.hpp>

#include <algorithm>

namespace blockjacobi::kernels {

/// Thread blocks for one element a thread.
inline unsigned elementwise_blocks(index_t n) {
  constexpr offset_t threads = vector_policy.threads;
  return static_cast<unsigned>((static_cast<offset_t>(n) + threads - 1) / threads);
}

/// Thread blocks of a reduction, which strides over the elements; one at least, since it also runs the scalar step.
inline unsigned reduction_blocks(index_t n) {
  return std::clamp(elementwise_blocks(n), 1u, static_cast<unsigned>(vector_policy.reduction_blocks));
}

}  // namespace blockjacobi::kernels
