#pragma once

namespace blockjacobi::kernels {

/// Blocks of up to staged_apply_largest bytes come to shared memory whole, several a thread block up to
/// staged_apply_bytes() (their vectors included); bounds of block bytes that share a launch.
inline constexpr int staged_apply_threads = 128;
constexpr int staged_apply_bytes(int columns, int part_bytes) {
  return (columns == 1 && part_bytes > 2 ? 16 : 28) * 1024;
}
/// Few blocks are spread over at least so many thread blocks.
inline constexpr int staged_apply_least_tiles = 512;
inline constexpr int staged_apply_largest = 72 * 1024;
inline constexpr int staged_apply_bounds[] = {14 * 1024, 36 * 1024, staged_apply_largest};
/// Shared memory of a thread block, vectors included, at most: 90340 bytes, with 8 columns of order 135 in z.
inline constexpr unsigned staged_apply_most_shared = 96 * 1024;

/// Larger blocks: a thread block computes up to wide_apply_rows rows of one product; its warps share the columns. (With
/// 128 rows, in single precision at 160 / 190 / 256 / 333 / 512: 74 / 80 / 94 / 86 / 95 % of the copy bandwidth against
/// 94 / 96 / 101 / 95 / 103.)
inline constexpr int wide_apply_threads = 256;
inline constexpr int wide_apply_rows = 64;

/// Columns of a block of vectors that one pass over a block serves.
inline constexpr int apply_columns_at_once = 8;

}  // namespace blockjacobi::kernels
