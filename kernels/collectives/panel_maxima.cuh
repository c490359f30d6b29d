#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/panel.cuh"
#include "kernels/collectives/team.cuh"

namespace blockjacobi::kernels {

/// The largest magnitudes of the rows and columns of an n x n matrix in shared memory. As every source of them it has
///   find(keep_row, word, keep_column):
/// keep_row(i, magnitude word) for all rows, then, visible to word(i, element of row i), keep_column(j, largest word)
/// for all columns, by one thread each of a thread block with n threads or more.
template <class C>
struct PanelMaxima {
  Panel<const C, int> a;
  int n;

  template <class KeepRow, class Word, class KeepColumn>
  __device__ void find(KeepRow keep_row, Word word, KeepColumn keep_column) const {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < n) {
      unsigned largest = 0;
#pragma unroll 8
      for (int c = 0; c < n; ++c) largest = max(largest, magnitude_word(a(thread, c)));
      keep_row(thread, largest);
    }
    __syncthreads();
    constexpr int at_once = 4;  // columns of a warp
    const int lane = thread % 32, step = at_once * static_cast<int>(blockDim.x) / 32;
#pragma unroll 1
    for (int first = at_once * (thread / 32); first < n; first += step) {
      unsigned largest[at_once] = {};
#pragma unroll 1
      for (int i = lane; i < n; i += 32)
#pragma unroll
        for (int u = 0; u < at_once; ++u) largest[u] = max(largest[u], word(i, a(i, min(first + u, n - 1))));
#pragma unroll
      for (int u = 0; u < at_once; ++u) {
        const unsigned of_column = __reduce_max_sync(full_warp, largest[u]);
        if (lane == u && first + u < n) keep_column(first + u, of_column);
      }
    }
  }
};

}  // namespace blockjacobi::kernels
