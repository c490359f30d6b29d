#pragma once

#include "ablations/blocked_panel.cuh"

namespace bench {

/// Columns outside of the panel at p, by number: those to the left come first.
template <int NB>
__device__ int outside(int number, int p) {
  return number < p ? number : number + NB;
}

/// One interchange after the other, one column a thread, so that the threads of a warp are a column apart.
struct ImmediateSwap {
  static constexpr bool delayed = false;
  static constexpr const char* name = "immediate";

  /// Brings the rows of the first `columns` columns outside of the panel to their places.
  template <class T, int NB>
  __device__ static void apply(const BlockedMatrix<T>& a, int p, int columns, const PanelState<T, NB>& state) {
    for (int number = static_cast<int>(threadIdx.x); number < columns; number += static_cast<int>(blockDim.x)) {
      const int c = outside<NB>(number, p);
      for (int k = 0; k < NB; ++k) {
        const T upper = a(p + k, c);
        a(p + k, c) = a(state.pivot[k], c);
        a(state.pivot[k], c) = upper;
      }
    }
  }
};

/// The interchanges of a column by as many lanes of a warp at once.
struct GroupedSwap {
  static constexpr bool delayed = false;
  static constexpr const char* name = "grouped";

  template <class T, int NB>
  __device__ static void apply(const BlockedMatrix<T>& a, int p, int columns, const PanelState<T, NB>& state) {
    constexpr int lanes = NB < 32 ? NB : 32, each = NB / lanes;
    const int lane = static_cast<int>(threadIdx.x) % lanes, groups = static_cast<int>(blockDim.x) / lanes;
    for (int first = 0; first < columns; first += groups) {
      const int number = first + static_cast<int>(threadIdx.x) / lanes;
      const int c = outside<NB>(number, p);
      T above[each], below[each];
      if (number < columns)
#pragma unroll
        for (int i = 0; i < each; ++i) {
          const int k = lane + i * lanes;
          above[i] = a(p + k, c);
          below[i] = a(state.source[p + k], c);
        }
      __syncwarp();
      if (number < columns)
#pragma unroll
        for (int i = 0; i < each; ++i) {
          const int k = lane + i * lanes;
          a(p + k, c) = below[i];
          if (state.place[k] >= p + NB) a(state.place[k], c) = above[i];
        }
    }
  }
};

/// Grouped in the columns to the left; in those to the right rows are read from where they are and written to where
/// they belong: when a left-looking factorization fetches a panel, and when a right-looking one solves and updates,
/// which applies all interchanges of a panel in parallel.
struct DelayedSwap : GroupedSwap {
  static constexpr bool delayed = true;
  static constexpr const char* name = "delayed";
};

}  // namespace bench
