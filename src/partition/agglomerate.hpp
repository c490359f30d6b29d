#pragma once

#include <blockjacobi/types.hpp>

#include <span>
#include <vector>

namespace blockjacobi::detail {

/// Merges consecutive blocks as long as they fit into max_size rows.
std::vector<index_t> merge_greedily(std::span<const index_t> offsets, index_t max_size);

/// Merges a block into the one that is being filled if it fits and last_coupled[block] (see last_coupled()) lies in it.
std::vector<index_t> merge_coupled(std::span<const index_t> offsets, std::span<const index_t> last_coupled,
                                   index_t max_size);

}  // namespace blockjacobi::detail
