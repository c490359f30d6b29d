#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that one group of lanes inverts in registers; above, a thread block works on one matrix.
inline constexpr int largest_tiny_order = 32;

/// Lane groups of 4, 8, 16 and 32 serve the orders up to their width.
struct TinySetupPolicy {
  int threads;  ///< per block
};

/// The tiles of a thread block (one a lane group) stay within the 48 KB that need no opt-in.
constexpr TinySetupPolicy tiny_setup_policy(std::size_t scalar_bytes, int width) {
  constexpr std::size_t shared_limit = 46 * 1024;
  const std::size_t tile = static_cast<std::size_t>(width) * static_cast<std::size_t>(width + 1) * scalar_bytes +
                           2 * sizeof(int) * static_cast<std::size_t>(width);
  int threads = 128;
  while (threads > 32 && static_cast<std::size_t>(threads / width) * tile > shared_limit) threads /= 2;
  return {threads};
}

/// Blocked elimination of one matrix by a thread block.
struct BlockSetupPolicy {
  int threads;
  int panel;  ///< columns eliminated together
};

/// A wider panel pays where the matrix lies in global memory and every panel costs a pass over it.
constexpr BlockSetupPolicy block_setup_policy(int order, bool in_shared_memory) {
  const int threads = order <= 64 ? 128 : order <= 128 ? 256 : 512;
  return {threads, in_shared_memory ? 8 : 16};
}

inline constexpr int block_setup_max_threads = 512;

/// Orders up to these bounds share a launch, and with it the shared memory of the largest among them.
inline constexpr int block_setup_bounds[] = {48, 64, 96, 128, 192, 256, 384, 512};

}  // namespace blockjacobi::kernels
