#pragma once

#include "core/shared/position_map.hpp"
#include "core/shared/scalar.hpp"

#include <algorithm>

namespace blockjacobi::detail {

/// Writes the n x n block of a slot, column-major; elements without entry are zeros.
template <class C>
void extract_block(const C* values, const PositionMapView& map, offset_t slot, int n, C* a) {
  const MapSlot& place = map.slots[slot];
  if (place.row_stride != 0) {
    const C* row = values + place.first_source;
    for (int i = 0; i < n; ++i, row += place.row_stride)
      for (int j = 0; j < n; ++j) a[i + j * n] = row[j];
    return;
  }
  std::fill_n(a, n * n, C{});
  const auto add = [&](const auto* words) {
    for (offset_t e = place.begin; e < map.slots[slot + 1].begin; ++e) {
      const MapEntry entry = map_entry(words[e], place);
      a[entry.row + entry.column * n] += values[entry.source];
    }
  };
  map.narrow != nullptr ? add(map.narrow) : add(map.wide);
}

}  // namespace blockjacobi::detail
