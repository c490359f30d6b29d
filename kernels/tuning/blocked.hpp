#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that a thread block factorizes; up to largest_tiny_order lanes of a warp do.
inline constexpr int largest_blocked_order = 512;

/// Columns of a panel, `words` of 4 bytes a scalar: a row of it stays in the registers of a thread.
constexpr int blocked_panel(int words) { return words == 4 ? 8 : 16; }

/// Threads of a thread block that keeps the factors in shared memory, at most; the same without them there.
inline constexpr int cached_threads = 256, uncached_threads = 512;

// Largest orders whose factors are kept in shared memory, by time on an H200 for fp32 and fp64. Where they leave a
// multiprocessor too few thread blocks, the steps of the elimination are waited for; `words` of 4 bytes a scalar.
constexpr int largest_cached_lu(int words) { return words == 1 ? 112 : words == 2 ? 56 : 40; }
constexpr int largest_cached_inverse(int words) { return words == 1 ? 112 : words == 2 ? 40 : 32; }
constexpr int largest_cached_cholesky(int words) { return words == 1 ? 224 : words == 2 ? 56 : 40; }

/// Thread blocks that a multiprocessor shall hold at least, which bounds the registers.
inline constexpr int cached_blocks = 2;

}  // namespace blockjacobi::kernels
