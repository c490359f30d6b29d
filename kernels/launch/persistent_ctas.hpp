#pragma once

#include "kernels/launch/grid.hpp"
#include "kernels/launch/policy.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// Thread blocks that stride over their work on the device in use, of which there is enough for `wanted`; one at least.
inline unsigned persistent_ctas(const PersistentPolicy& policy, offset_t wanted) {
  return static_cast<unsigned>(std::clamp<offset_t>(wanted, 1, policy.ctas(current_device())));
}

}  // namespace blockjacobi::kernels
