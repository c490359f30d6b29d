#pragma once

#include "backend/block_ops.hpp"

namespace blockjacobi::kernels {

/// Scatters the entries of a block by a team of `size` threads: store(position, value) once for each element that has
/// entries, position = i + j N. The thread at the head of a run of equal positions sums the run in its order.
template <class C, class Store>
__device__ void extract_entries(const C* values, const detail::PositionMapView& map, offset_t slot, int rank, int size,
                                Store store) {
  const offset_t begin = map.begin[slot];
  const offset_t end = map.begin[slot + 1];
  for (offset_t e = begin + rank; e < end; e += size) {
    const index_t position = map.position[e];
    if (e > begin && map.position[e - 1] == position) continue;
    C sum = values[map.source[e]];
    for (offset_t next = e + 1; next < end && map.position[next] == position; ++next)
      sum += values[map.source[next]];
    store(position, sum);
  }
}

}  // namespace blockjacobi::kernels
