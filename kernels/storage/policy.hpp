#pragma once

#include "kernels/device.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Threads that work on one block after its set-up: rare or memory-bound work, for which one warp suffices where the
/// block is small.
constexpr int storage_threads(int order) { return order <= largest_tiny_order ? 32 : 256; }

/// Orders up to these bounds share a launch.
inline constexpr int store_bounds[] = {largest_tiny_order, max_block_size};

/// Blocks that are widened again have a warp each.
inline constexpr int widen_threads = 256;

}  // namespace blockjacobi::kernels
