#pragma once

#include "core/shared/storage_format.hpp"
#include "kernels/device.hpp"
#include "kernels/scalar.hpp"

#include <array>

// Products with the inverted blocks, z = X r. Chosen by time on an H200.

namespace blockjacobi::kernels {

enum class ApplyDesign {
  lanes,            ///< a block a few lanes, straight from global memory
  cta_staged,       ///< several blocks a thread block, which come to shared memory whole
  cta_wide,         ///< several thread blocks a block, which share its rows
  cta_wide_pieces,  ///< the same for 16 bits, with 8 rows a lane
  cta_wide_packed,  ///< a block a thread block, from its packed triangle
  tiled,            ///< several blocks a warp, in the order of the matrix, by a ring in shared memory
};

constexpr const char* name(ApplyDesign design) {
  constexpr const char* names[] = {"lanes", "cta_staged", "cta_wide", "cta_wide_pieces", "cta_wide_packed", "tiled"};
  return names[static_cast<int>(design)];
}

/// Blocks of up to staged_apply_largest bytes come to shared memory whole, several a thread block up to
/// staged_apply_bytes() (their vectors included); bounds of block bytes that share a launch.
inline constexpr int staged_apply_threads = 128;
/// Orders in random sequence up to 32 (128), d with 16 / 24 / 32 KB: 84 / 86 / 79 % (81 / 82 / 78) of the copy
/// bandwidth, s 70 / 68 / 60 (79 / 80 / 73). Alone, in full, with 12 / 14 / 16 KB: order 24 in d 102 / 102 / 98, 28 in
/// s 92 / 98 / 98, 12 in d 103 / 99 / 102.
constexpr int staged_apply_bytes(int columns, int part_bytes, int element_bytes, bool mixed, bool medium_order) {
  if (columns > 1 || part_bytes <= 2) return 28 * 1024;
  if (mixed) return (element_bytes >= 8 ? 24 : 16) * 1024;
  return (medium_order ? 14 : 16) * 1024;
}
constexpr bool is_medium_order(int n) { return n >= 16 && n <= largest_tiny_order; }
/// Where only more blocks write whole sectors, up to this many bytes: 23 / 25 / 27 / 29 / 31 in d 101 each instead of
/// 96 to 97, in s alike.
inline constexpr int staged_apply_whole_sector_bytes = 36 * 1024;
/// Rows of a thread block. Blocks of order 1 need more shared memory than others, which has all orders of a launch
/// wait: without a limit 77 (81) in d and 63 (78) in s.
inline constexpr int staged_apply_rows = 4096;
inline constexpr int staged_apply_mixed_rows = 512;
/// Few blocks are spread over at least so many thread blocks.
inline constexpr int staged_apply_least_ctas = 512;
inline constexpr int staged_apply_largest = 72 * 1024;
inline constexpr int staged_apply_bounds[] = {14 * 1024, 36 * 1024, staged_apply_largest};
/// Shared memory of a thread block, vectors included, at most: 90340 bytes, with 8 columns of order 135 in z.
inline constexpr unsigned staged_apply_most_shared = 96 * 1024;

/// Orders in random sequence: tiles of blocks in the order of the matrix, of which every warp of a grid that stays has
/// `stages` under way. Up to 32 in s with 2 tiles of 4.5 / 6 / 8 KB: 91 / 91 / 87 % of the copy bandwidth, with 3 of
/// 4.5 / 6 KB 78 / 69, where orders one after the other reach 72. A block of order 32 in d or c takes 8 KB, so that as
/// few warps as with 8 KB in s would be left, against 86 without.
constexpr int tiled_apply_bytes(int element_bytes) { return element_bytes == 4 ? 4608 : 0; }  // 0: not in use
inline constexpr int tiled_apply_threads = 128;
inline constexpr int tiled_apply_stages = 2;
inline constexpr int tiled_apply_rows = 128;
inline constexpr int tiled_apply_largest = 32;
/// Every block is a copy of its own: fewer bytes each than with orders up to 32, which have 1.4 KB, are not measured.
inline constexpr int tiled_apply_least_mean_bytes = 1024;

/// Larger blocks: a thread block computes up to wide_apply_rows rows of one product; its warps share the columns. (With
/// 128 rows, in single precision at 160 / 190 / 256 / 333 / 512: 74 / 80 / 94 / 86 / 95 % of the copy bandwidth against
/// 94 / 96 / 101 / 95 / 103.)
inline constexpr int wide_apply_threads = 256;
inline constexpr int wide_apply_rows = 64;
/// The same of blocks in 16 bits, where a lane has 8 rows.
inline constexpr int narrow_apply_rows = 128;
/// Of packed triangles, which a thread block has to itself: up to this order, and largest_order above.
inline constexpr int packed_apply_rows = 256;

/// Products straight from global memory; lanes that have a block of a narrow format together. At 8 with 2 / 4 / 8
/// lanes: bf16 95 / 103 / 97 % of the copy bandwidth, fp32 87 / 104 / 104; at 12 with 2 / 4 lanes 83 / 101 and 76 / 89,
/// where fp32 through shared memory reaches 102.
inline constexpr int direct_apply_threads = 256;
inline constexpr int direct_apply_narrow_lanes = 4;

/// Vectors that one pass over a block serves.
inline constexpr int apply_columns_at_once = 8;

/// What a product depends on beside scalar and order.
struct ApplyCase {
  detail::Format format = detail::Format::full;
  int columns = 1;
  bool transposed = false;
  bool one_order = false;  ///< of all blocks
};

struct ApplyPolicy {
  ApplyDesign design;
  int lanes = 0;   ///< of a block
  int rows = 0;    ///< of a thread block; of tiled of a tile, at most
  int warps = 0;   ///< of a thread block
  int stages = 0;  ///< tiles that each warp has under way

  bool operator==(const ApplyPolicy&) const = default;
  constexpr std::array<PolicyNumber, 4> numbers() const {
    return {{{"lanes", lanes}, {"rows", rows}, {"warps", warps}, {"stages", stages}}};
  }
};

/// Whether real blocks of order n in 16 bits have columns of whole 16-byte pieces.
constexpr bool has_whole_pieces(int n) { return n % 8 == 0; }

constexpr ApplyPolicy apply_policy(Device, ScalarType scalar, int n, const ApplyCase& given) {
  using enum ApplyDesign;
  const int parts = is_complex(scalar) ? 2 : 1, real_bytes = 4 * words(scalar) / parts;
  const bool in_16_bits = detail::format_part_bytes(given.format, real_bytes) == 2;
  const bool is_plain = given.columns == 1 && !given.transposed;
  const bool by_lanes =
      scalar == ScalarType::d && detail::is_narrow(given.format) && (n == 8 || (n == 12 && in_16_bits));
  if (by_lanes && is_plain && given.one_order) return {lanes, direct_apply_narrow_lanes, 0, direct_apply_threads / 32};
  if (detail::format_block_bytes(given.format, n, real_bytes, parts) <= staged_apply_largest)
    return {cta_staged, 0, 0, staged_apply_threads / 32};
  if (given.format == detail::Format::packed && given.columns == 1)
    return {cta_wide_packed, 0, n <= packed_apply_rows ? packed_apply_rows : largest_order, wide_apply_threads / 32};
  if (in_16_bits && parts == 1 && is_plain && has_whole_pieces(n))
    return {cta_wide_pieces, 0, narrow_apply_rows, wide_apply_threads / 32};
  return {cta_wide, 0, wide_apply_rows, wide_apply_threads / 32};
}

/// Blocks in full of orders up to `largest`, all of which a product takes.
struct MixedBlocks {
  int largest = 0;
  offset_t count = 0;
  offset_t bytes = 0;
  offset_t bytes_in_sequence = 0;  ///< of orders whose blocks follow each other in the matrix
};

/// One vector, not transposed: tiles for all blocks, or what apply_policy() has for each order, here for the largest.
constexpr ApplyPolicy mixed_apply_policy(Device device, ScalarType scalar, const MixedBlocks& blocks) {
  // Orders one after the other have their vectors in one piece without tiles.
  const bool in_random_sequence = 2 * blocks.bytes_in_sequence <= blocks.bytes;
  if (tiled_apply_bytes(4 * words(scalar)) > 0 && blocks.count > 0 && blocks.largest <= tiled_apply_largest &&
      in_random_sequence && blocks.bytes >= tiled_apply_least_mean_bytes * blocks.count)
    return {ApplyDesign::tiled, 0, tiled_apply_rows, tiled_apply_threads / 32, tiled_apply_stages};
  return apply_policy(device, scalar, blocks.largest, {});
}

}  // namespace blockjacobi::kernels
