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

/// Lanes of a warp or a whole thread block go through a row of A together, with its sums in a hash table in shared
/// memory: slots for each of the lanes, of which a fourth stay free.
inline constexpr int product_slots = 8;
constexpr int most_product_columns(int lanes) { return lanes * product_slots / 4 * 3; }

inline constexpr int least_product_lanes = 4;

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

/// Where lanes of a warp gather the columns of a row of a product of sparse matrices: a hash table in shared memory, a
/// fourth of whose slots stay free.
struct ColumnTable {
  int lanes, slots;
  constexpr int most_columns() const { return slots / 4 * 3; }
};
/// The first that has room for every row is taken; where none has, all terms are sorted. The first is for rows of
/// stencils, of which four share a warp, the second for those of the matrices of coarser levels.
inline constexpr ColumnTable column_tables[] = {{8, 64}, {32, 512}};

}  // namespace blockjacobi::kernels
