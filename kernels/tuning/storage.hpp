#pragma once

namespace blockjacobi::kernels {

/// Threads that work on one block after its set-up: rare or memory-bound work, for which one warp suffices where the
/// block is small.
constexpr int storage_threads(int order) { return order <= 32 ? 32 : 256; }
inline constexpr int repair_threads = 256;

/// Blocks that are widened again have a warp each.
inline constexpr int widen_threads = 256;

/// Thread blocks of which each has scratch of its own, and the bytes that all of them together may have.
inline constexpr int storage_blocks = 2048;
inline constexpr long storage_scratch_bytes = 64L << 20;

}  // namespace blockjacobi::kernels
