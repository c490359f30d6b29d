#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// A pass over fewer entries of a matrix ends on one thread before others have woken up, and on a busy machine long
/// before they get their turn.
constexpr offset_t worth_threads = 16384;

}  // namespace blockjacobi::detail
