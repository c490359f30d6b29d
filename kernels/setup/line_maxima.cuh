#pragma once

#include "kernels/collectives/stepped_ref.cuh"
#include "kernels/collectives/team.cuh"

namespace blockjacobi::kernels {

/// keep(l, largest word) for the lines l of an n x n matrix, rows or columns, by one thread each: the largest of
/// word(k, element k of the line). Lines begin `line_step` apart, their elements stand `step` apart. By a thread block
/// with n threads or more, such that neighbouring threads read neighbouring elements, some under way at a time: a warp
/// a few lines whose elements are neighbours, else a thread a line.
template <class C, class Word, class Keep>
__device__ void for_each_line_maximum(const SteppedRef<const C>& a, offset_t line_step, offset_t step, int n, Word word,
                                      Keep keep) {
  const int thread = static_cast<int>(threadIdx.x);
  if (step == 1) {
    constexpr int at_once = 8;
    const int lane = thread % 32, all = at_once * static_cast<int>(blockDim.x) / 32;
    for (int first = at_once * (thread / 32); first < n; first += all) {
      unsigned largest[at_once] = {};
#pragma unroll 2
      for (int k = lane; k < n; k += 32) {
        const C* element = a.data + first * line_step + k;
#pragma unroll
        for (int u = 0; u < at_once; ++u, element += line_step)
          if (first + u < n) largest[u] = max(largest[u], word(k, *element));
      }
#pragma unroll
      for (int u = 0; u < at_once; ++u) {
        const unsigned of_line = __reduce_max_sync(full_warp, largest[u]);
        if (lane == u && first + u < n) keep(first + u, of_line);
      }
    }
  } else if (thread < n) {
    const C* const line = a.data + thread * line_step;
    unsigned largest = 0;
#pragma unroll 16
    for (int k = 0; k < n; ++k) largest = max(largest, word(k, line[k * step]));
    keep(thread, largest);
  }
}

}  // namespace blockjacobi::kernels
