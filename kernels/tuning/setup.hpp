#pragma once

#include <cstddef>

namespace blockjacobi::kernels {

/// Largest order that one group of lanes inverts in registers; above, a thread block works on one matrix.
inline constexpr int largest_tiny_order = 32;

/// Orders up to which a thread of its own inverts each block. From 5 on it needs so many registers that too few warps
/// hide the latency of the extraction: 54 against 63 % of the copy bandwidth at order 8 in fp64.
inline constexpr int largest_setup_by_thread = 4;

/// Orders with a kernel of their own where all blocks of a launch have it, as the multiples of 4 have: orders at which
/// the kernel of the next multiple is furthest from what the order allows.
constexpr bool setup_alone(int words, bool complex, int n) {
  if (n % 4 == 0) return true;
  if (complex) return false;
  if (n <= 3 || n == 5 || n == 9 || n == 17 || n == 18 || n == 21) return true;
  return words == 1 && (n == 13 || n >= 25);
}

/// Warps that a multiprocessor shall hold where a team inverts a block of order N: `words` of 4 bytes a scalar. They
/// limit the registers to what the elimination needs.
constexpr int setup_warps(int words, bool complex, int n) {
  if (words == 4) return 8;
  if (complex && n <= 16) return 12;
  if (n <= 16) return words == 1 ? 20 : 16;
  if (words == 2 && n <= 24) return 8;
  return n <= 20 ? 16 : 12;
}

/// Columns that a thread block eliminates together where it repairs a block in its place.
inline constexpr int repair_panel = 16;

/// Orders up to these bounds share a launch, and with it the shared memory of the largest among them.
inline constexpr int block_setup_bounds[] = {48, 64, 96, 128, 192, 256, 384, 512};

}  // namespace blockjacobi::kernels
