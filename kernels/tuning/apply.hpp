#pragma once

namespace blockjacobi::kernels {

/// Blocks of up to staged_apply_largest bytes come to shared memory whole, several a thread block up to
/// staged_apply_bytes() (their vectors included); bounds of block bytes that share a launch.
inline constexpr int staged_apply_threads = 128;
/// Orders in random sequence up to 32 (128), d with 16 / 24 / 32 KB: 84 / 86 / 79 % (81 / 82 / 78) of the copy
/// bandwidth, s 70 / 68 / 60 (79 / 80 / 73).
constexpr int staged_apply_bytes(int columns, int part_bytes, int element_bytes, bool mixed) {
  if (columns > 1 || part_bytes <= 2) return 28 * 1024;
  return (mixed && element_bytes >= 8 ? 24 : 16) * 1024;
}
/// Rows of a thread block. Tiles of order 1 need more shared memory than others, which has all orders of a launch wait:
/// without a limit 77 (81) in d and 63 (78) in s.
inline constexpr int staged_apply_rows = 4096;
inline constexpr int staged_apply_mixed_rows = 512;
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
/// The same of blocks in 16 bits, where a lane has 8 rows.
inline constexpr int narrow_apply_rows = 128;

/// Columns of a block of vectors that one pass over a block serves.
inline constexpr int apply_columns_at_once = 8;

}  // namespace blockjacobi::kernels
