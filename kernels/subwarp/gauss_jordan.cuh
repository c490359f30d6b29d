#pragma once

#include "kernels/subwarp/lanes.cuh"

namespace blockjacobi::kernels {

/// Where the pieces of an inverse stand after gauss_jordan(), in one lane.
struct RowPlace {
  int row;           ///< the row of the inverse that this lane holds
  int pivot_column;  ///< the column of the inverse that elimination step `rank` produced
};

/// Inverts an n x n matrix (n <= W) with one row a lane by Gauss-Jordan elimination with partial pivoting (largest
/// |Re| + |Im|, the smallest row index of equals; rows stay where they are, their places are tracked).
///
/// On entry row[j] holds column j; registers j >= n and lanes of rank >= n hold zeros. Each step reads register j and
/// writes register j - 1, so that the pivot column is always register 0 and the loop over the steps need not be
/// unrolled; afterwards register W - n + t holds the column that step t produced.
///
/// Returns 0, or k (1-based) if pivot k is exactly zero. The result is uniform in the group.
template <int W, class C>
__device__ int gauss_jordan(const Lanes<W>& lanes, C (&row)[W], int n, RowPlace& place) {
  using R = detail::arithmetic_real_t<C>;
  const int rank = lanes.rank;
  place = {rank, rank};
#pragma unroll 1
  for (int k = 0; k < n; ++k) {
    // Rows at places k and below compete; a lane's order carries its place and, below it, its rank.
    const bool competes = rank < n && place.row >= k;
    const PivotCandidate<R> best =
        best_pivot(lanes, PivotCandidate<R>{competes ? pivot_magnitude(row[0]) : R(-1), place.row * W + rank});
    if (best.magnitude == R(0)) return k + 1;
    const int pivot_lane = best.order % W;
    const bool is_pivot = rank == pivot_lane;
    if (place.row == k) place.row = best.order / W;
    if (is_pivot) place.row = k;
    if (rank == k) place.pivot_column = pivot_lane;

    const C inverse = detail::reciprocal(lanes.broadcast(row[0], pivot_lane));
    const C factor = is_pivot ? -inverse : row[0] * inverse;
#pragma unroll
    for (int j = 1; j < W; ++j) {
      const C pivot_row = lanes.broadcast(row[j], pivot_lane);
      const C kept = is_pivot ? C{} : row[j];
      row[j - 1] = kept - factor * pivot_row;
    }
    row[W - 1] = is_pivot ? inverse : -factor;
  }
  return 0;
}

}  // namespace blockjacobi::kernels
