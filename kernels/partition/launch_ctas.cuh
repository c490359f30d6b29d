#pragma once

#include "kernels/launch/grid.hpp"
#include "kernels/partition/policy.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// Thread blocks of a launch on the device in use for `work`, of which each has `of_cta` at a time.
inline unsigned striding_ctas(const StridingPolicy& policy, offset_t work, int of_cta) {
  return static_cast<unsigned>(std::clamp<offset_t>((work + of_cta - 1) / of_cta, 1, policy.ctas(current_device())));
}

}  // namespace blockjacobi::kernels
