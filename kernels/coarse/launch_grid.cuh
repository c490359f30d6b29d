#pragma once

#include "kernels/coarse/policy.hpp"
#include "kernels/launch/grid.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// Thread blocks with a thread for each item, also where there are none.
inline unsigned ctas_of(offset_t items, const char* kernel) {
  return grid_for(std::max<offset_t>(items, 1), coarse_threads, kernel);
}

}  // namespace blockjacobi::kernels
