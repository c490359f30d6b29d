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
