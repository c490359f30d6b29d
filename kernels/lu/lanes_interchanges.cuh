#pragma once

#include "kernels/collectives/shared_tile.cuh"

namespace blockjacobi::kernels {

/// Lane k's row of getrf's interchanges, from 0.
template <int W, class C>
__device__ int own_pivot(const SharedTile<W, C>& tile, const index_t* ipiv) {
  return tile.owns_row() ? ipiv[tile.lanes.rank] - 1 : 0;
}

/// Where a row ends up when row k is interchanged with row pivots[k], k = 0, 1, .... Lane k has pivots[k] as `pivot`
/// and gets the place of row k.
template <int W>
__device__ int place_after_interchanges(const Lanes<W>& lanes, int pivot, int n) {
  int place = lanes.rank;
  for (int k = 0; k < n; ++k) {
    const int p = lanes.broadcast(pivot, k);
    if (place == k)
      place = p;
    else if (place == p)
      place = k;
  }
  return place;
}

}  // namespace blockjacobi::kernels
