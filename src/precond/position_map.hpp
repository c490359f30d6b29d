#pragma once

#include "core/shared/position_map.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>
#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// The pattern analysis of BlockJacobi: where the entries of each block lie in the value array. Layout as in
/// PositionMapView; narrow words if all blocks admit them.
struct PositionMap {
  std::vector<MapSlot> slots;
  offset_t entries = 0;  ///< of the matrix inside blocks
  std::vector<std::uint32_t> narrow;
  std::vector<std::uint64_t> wide;
  bool duplicates = false;
};

/// The same in backend memory.
struct BackendMap {
  /// Slots of `blocks` blocks, uninitialized, and no words.
  BackendMap(const Backend& backend, index_t blocks)
      : slots(backend, static_cast<std::size_t>(blocks) + 1), narrow(backend, 0), wide(backend, 0) {}
  BackendMap(const Backend& backend, const PositionMap& map)
      : slots(backend, map.slots),
        entries(map.entries),
        narrow(backend, map.narrow),
        wide(backend, map.wide),
        duplicates(map.duplicates) {}

  std::size_t bytes() const { return slots.bytes() + narrow.bytes() + wide.bytes(); }
  PositionMapView view() const {
    return {slots.data(), wide.size() == 0 ? narrow.data() : nullptr, wide.data(), duplicates};
  }

  Array<MapSlot> slots;
  offset_t entries = 0;
  Array<std::uint32_t> narrow;
  Array<std::uint64_t> wide;
  bool duplicates = false;
};

/// How many words a map has, and whether they are narrow.
struct PositionMapSize {
  offset_t words = 0;
  bool narrow = true;
};

/// The size of what build_position_map() would build.
template <Offset O>
PositionMapSize measure_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout, int threads);

/// O(nnz) on `threads` threads for a host pattern that passed validate(); `layout` belongs to a partition of its rows.
template <Offset O>
PositionMap build_position_map(const CsrView<const void, O>& pattern, const BlockLayout& layout, int threads);

}  // namespace blockjacobi::detail
