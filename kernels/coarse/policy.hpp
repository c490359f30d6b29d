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
  offset_t elements = 0;  ///< of the product
};

/// Lanes of a warp or a whole thread block go through a row of A together, with the columns of the product in a hash
/// table in shared memory: slots for each of the lanes, of which a fourth stay free.
inline constexpr int product_slots = 8, product_columns = product_slots / 4 * 3;
constexpr int most_product_columns(int lanes) { return product_columns * lanes; }

inline constexpr int least_product_lanes = 4, least_pattern_lanes = 8;

/// Lanes that a row gets: 4, 8, 16, 32 or coarse_threads. All share each row of B, so that few waste least; but they
/// need room for a third more columns than rows have in the mean, and a fourth of the lanes of each multiprocessor
/// should have work. Warps of a thread block wait for each other: they are for rows of which each multiprocessor has
/// four at most, or which no warp has room for.
constexpr int sparse_product_lanes(const Device& device, const SparseProductCase& given) {
  const auto has_room = [&](int lanes) { return 4 * given.elements <= 3 * given.rows * most_product_columns(lanes); };
  const auto has_work = [&](int lanes) { return given.rows * lanes >= offset_t{512} * device.multiprocessors; };
  if (given.rows <= offset_t{4} * device.multiprocessors || !has_room(32)) return coarse_threads;
  int lanes = given.b_entries <= least_product_lanes * given.b_rows ? least_product_lanes : 2 * least_product_lanes;
  while (lanes < 32 && !(has_room(lanes) && has_work(lanes))) lanes *= 2;
  return lanes;
}

/// How the columns of each row of a product are gathered, in a hash table with as many slots.
struct SparsePatternPolicy {
  int lanes;    ///< of a row: 8, 16, 32 or coarse_threads
  int sharing;  ///< of these have a row of B together: a power of two up to 8
  bool operator==(const SparsePatternPolicy&) const = default;
};

/// Where the table has no room for a row, a thread block gathers it again: so there is room for half the terms, of
/// which most are found several times. Rows with more terms get a thread block at once where that leaves all lanes of a
/// multiprocessor to 64 of them.
constexpr SparsePatternPolicy sparse_pattern_policy(const Device& device, const SparseProductCase& given) {
  const auto mean = [](offset_t count, offset_t of) {
    return of > 0 ? static_cast<double>(count) / static_cast<double>(of) : 0.0;
  };
  const double of_b = mean(given.b_entries, given.b_rows), terms = mean(given.entries, given.rows) * of_b;
  SparsePatternPolicy policy{least_pattern_lanes, 1};
  while (policy.sharing < 8 && of_b > policy.sharing) policy.sharing *= 2;
  while (policy.lanes < 32 && terms > 2 * most_product_columns(policy.lanes)) policy.lanes *= 2;
  if (terms > 2 * most_product_columns(policy.lanes) && given.rows <= offset_t{64} * device.multiprocessors)
    policy.lanes = coarse_threads;
  return policy;
}

}  // namespace blockjacobi::kernels
