#pragma once

#include "ablations/pivot_search.cuh"

namespace bench {

/// Place of a row, hitherto `place`, after places k and `other` were interchanged.
__device__ inline int interchanged(int place, int k, int other) {
  return place == k ? other : place == other ? k : place;
}

/// The rows of a step are interchanged at once: the place of a row is where it is.
struct EagerSwap {
  /// Returns where the pivot row of step k is from now on.
  template <class Rows>
  __device__ static int apply(Rows& rows, int k, Pivot pivot, int&) {
    rows.interchange(k, pivot.row);
    return k;
  }
};

/// Rows stay and remember their place, where they go with the last store.
struct LazySwap {
  template <class Rows>
  __device__ static int apply(Rows& rows, int k, Pivot pivot, int& place) {
    place = moved(place, rows.rank, k, pivot);
    return pivot.row;
  }

  /// Place of `row`, hitherto `place`, after step k.
  __device__ static int moved(int place, int row, int k, Pivot pivot) {
    const int displaced = place == k ? pivot.place : place;
    return row == pivot.row ? k : displaced;
  }
};

}  // namespace bench
