#pragma once

namespace blockjacobi::kernels {

inline constexpr int tiny_apply_threads = 256;

/// A thread block of the large apply computes `rows` rows of one product; its warps share the columns.
struct BlockApplyPolicy {
  int threads;
  int rows;
};
inline constexpr BlockApplyPolicy block_apply_policy{256, 64};

/// Orders up to these bounds share a launch, and with it the number of row tiles of the largest among them.
inline constexpr int block_apply_bounds[] = {64, 128, 192, 256, 320, 384, 448, 512};

}  // namespace blockjacobi::kernels
