#pragma once

#include "kernels/krylov/policy.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Thread blocks for one element a thread.
inline unsigned elementwise_ctas(index_t n) {
  constexpr offset_t threads = vector_policy.threads;
  return static_cast<unsigned>((static_cast<offset_t>(n) + threads - 1) / threads);
}

}  // namespace blockjacobi::kernels
