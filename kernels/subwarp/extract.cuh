#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Entries begin .. end - 1 of a position map.
struct MapRange {
  const offset_t* source;
  const index_t* position;
  offset_t begin;
  offset_t end;
};

/// Scatters the entries of a block by a team of `size` threads: store(position, value) once for each element that has
/// entries, position = i + j N. The thread at the head of a run of equal positions sums the run in its order.
template <class C, class Store>
__device__ void extract_entries(const C* values, const MapRange& map, int rank, int size, Store store) {
  for (offset_t e = map.begin + rank; e < map.end; e += size) {
    const index_t position = map.position[e];
    if (e > map.begin && map.position[e - 1] == position) continue;
    C sum = values[map.source[e]];
    for (offset_t next = e + 1; next < map.end && map.position[next] == position; ++next)
      sum += values[map.source[next]];
    store(position, sum);
  }
}

}  // namespace blockjacobi::kernels
