#pragma once

#include <cstdint>

namespace blockjacobi::detail {

/// What pairs of numbers are sorted by: the first times the number of possible second ones, and the second.
using SortKey = std::uint64_t;

}  // namespace blockjacobi::detail
