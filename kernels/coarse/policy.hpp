#pragma once

#include "kernels/device.hpp"

#include <algorithm>

namespace blockjacobi::kernels {

/// Sums over the entries of a coarse row: a warp for each piece.
struct CoarseRestrictionPolicy {
  int threads;
  int entries;      ///< that a piece should have: a few rounds of loads for each lane
  int most_pieces;  ///< of a row
};
inline constexpr CoarseRestrictionPolicy coarse_restriction_policy{256, 256, 256};

/// Pieces of each of `order` rows that have `entries` entries together.
constexpr int coarse_pieces(int order, offset_t entries) {
  const offset_t size = offset_t{coarse_restriction_policy.entries} * std::max(order, 1);
  return static_cast<int>(std::clamp<offset_t>((entries + size - 1) / size, 1, coarse_restriction_policy.most_pieces));
}

/// The product with E^-1: threads of a thread block, whose warps have the columns in turn.
inline constexpr int coarse_solve_threads = 1024;

/// Rows of E^-1 that a thread block has, a power of two up to 32: the fewest with which no multiprocessor has several
/// thread blocks to do. 8 rows of single precision are a sector of a column still.
constexpr int coarse_solve_rows(const Device& device, int order) {
  if (order <= 8 * device.multiprocessors) return 8;
  return order <= 16 * device.multiprocessors ? 16 : 32;
}

inline constexpr int coarse_threads = 256;

/// A product of sparse matrices A B.
struct SparseProductCase {
  offset_t rows = 0, entries = 0, b_rows = 0, b_entries = 0;
  offset_t elements = 0;          ///< of the product
  bool has_wide_offsets = false;  ///< A has offsets of 64 bits
};

/// Lanes of a warp or a whole thread block have a row of A together, with the columns of the product in a hash table in
/// shared memory: slots for each of the lanes, of which a fourth stay free.
inline constexpr int product_slots = 8, product_columns = product_slots / 4 * 3;
constexpr int most_product_columns(int lanes) { return product_columns * lanes; }

/// As many as short rows have entries.
inline constexpr int few_product_lanes = 8;

/// Lanes that sum up the elements of a row, and share each row of B: few where rows of B are short and there are rows
/// enough to give a fourth of the lanes of each multiprocessor work, else a warp with a hash table; a thread block,
/// whose warps wait for each other, for rows of which each multiprocessor has four at most, or which a warp has no room
/// for, with a third more columns than in the mean. Long rows are those of coarser levels, whose offsets have 32 bits.
constexpr int sparse_product_lanes(const Device& device, const SparseProductCase& given) {
  if (given.has_wide_offsets) return few_product_lanes;
  const bool is_many = given.rows * few_product_lanes >= offset_t{512} * device.multiprocessors;
  if (is_many && given.b_entries <= 2 * few_product_lanes * given.b_rows) return few_product_lanes;
  const bool has_room = 4 * given.elements <= 3 * given.rows * most_product_columns(32);
  return given.rows <= offset_t{4} * device.multiprocessors || !has_room ? coarse_threads : 32;
}

/// Lanes that gather the columns of a row: 8, 16, 32 or coarse_threads. Where the table has no room for a row, a thread
/// block gathers it again: so there is room for half the terms, of which most are found several times. Rows with more
/// terms get a thread block at once where that leaves all lanes of a multiprocessor to 64 of them.
constexpr int sparse_pattern_lanes(const Device& device, const SparseProductCase& given) {
  const auto mean = [](offset_t count, offset_t of) {
    return of > 0 ? static_cast<double>(count) / static_cast<double>(of) : 0.0;
  };
  const double terms = mean(given.entries, given.rows) * mean(given.b_entries, given.b_rows);
  int lanes = few_product_lanes;
  while (lanes < 32 && terms > 2 * most_product_columns(lanes)) lanes *= 2;
  const bool is_few = given.rows <= offset_t{64} * device.multiprocessors;
  return is_few && terms > 2 * most_product_columns(lanes) ? coarse_threads : lanes;
}

}  // namespace blockjacobi::kernels
