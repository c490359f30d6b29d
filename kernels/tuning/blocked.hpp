#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that a thread block factorizes; up to largest_tiny_order lanes of a warp do.
inline constexpr int largest_blocked_order = 512;

/// Columns of a panel, `words` of 4 bytes a scalar: a row of it stays in the registers of a thread.
constexpr int blocked_panel(int words) { return words == 4 ? 8 : 16; }

/// Threads of a thread block that keeps the factors in shared memory, at most; the same without them there.
inline constexpr int cached_threads = 256, uncached_threads = 512;

/// Thread blocks that a multiprocessor shall hold at least, which bounds the registers.
inline constexpr int cached_blocks = 2;

}  // namespace blockjacobi::kernels
