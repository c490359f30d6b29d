#pragma once

#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// Block pointers of the supervariables, of at most max_size rows, by the rule of BlockPartition::detect before
/// anything is merged; for a pattern on the host that passed validate().
template <Offset O>
std::vector<index_t> supervariables(const CsrView<const void, O>& pattern, index_t max_size, double tolerance);

}  // namespace blockjacobi::detail
