#pragma once

#include <blockjacobi/types.hpp>

#include <algorithm>
#include <cstddef>

namespace blockjacobi::detail {

/// Words of the array with the number of defects, which comes first: the set-up keeps notes on some blocks in the rest.
inline std::size_t defect_words(index_t blocks) {
  return 2 + std::min(static_cast<std::size_t>(blocks), std::size_t{8190});
}

}  // namespace blockjacobi::detail
