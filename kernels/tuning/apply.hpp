#pragma once

namespace blockjacobi::kernels {

/// Blocks of up to staged_apply_largest bytes come to shared memory whole, several a thread block up to
/// staged_apply_bytes (their vectors included); bounds of block bytes that share a launch.
inline constexpr int staged_apply_threads = 128;
inline constexpr int staged_apply_bytes = 16 * 1024;
inline constexpr int staged_apply_largest = 72 * 1024;
inline constexpr int staged_apply_bounds[] = {14 * 1024, 36 * 1024, staged_apply_largest};

/// A thread block of the apply to larger blocks computes `rows` rows of one product; its warps share the columns.
struct WideApplyPolicy {
  int threads;
  int rows;
};
inline constexpr WideApplyPolicy wide_apply_policy{256, 64};

/// Columns of a block of vectors that one pass over a block serves.
inline constexpr int apply_columns_at_once = 8;

}  // namespace blockjacobi::kernels
