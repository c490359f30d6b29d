#pragma once

#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// Block pointers of BlockPartition::detect for a pattern on the host that passed validate().
template <Offset O>
std::vector<index_t> supervariables(const CsrView<const void, O>& pattern, index_t max_size);

}  // namespace blockjacobi::detail
