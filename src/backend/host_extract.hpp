#pragma once

#include "core/shared/position_map.hpp"
#include "core/shared/scalar.hpp"

#include <algorithm>

namespace blockjacobi::detail {

/// Calls f(row, column, source) for every entry of a slot that has words in the map.
template <class F>
void for_each_entry(const PositionMapView& map, offset_t slot, F&& f) {
  const MapSlot& place = map.slots[slot];
  const auto all = [&](const auto* words) {
    for (offset_t e = place.begin; e < map.slots[slot + 1].begin; ++e) {
      const MapEntry entry = map_entry(words[e], place);
      f(entry.row, entry.column, entry.source);
    }
  };
  map.narrow != nullptr ? all(map.narrow) : all(map.wide);
}

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
  for_each_entry(map, slot, [&](index_t i, index_t j, offset_t k) { a[i + j * n] += values[k]; });
}

}  // namespace blockjacobi::detail
