#include "precond/apply_tiles.hpp"

namespace blockjacobi::detail {

namespace {

/// By block number.
std::vector<StoredSlot> places_of(const BlockLayout& layout) {
  std::vector<StoredSlot> places(layout.slots().size());
  const auto scalar_bytes = static_cast<offset_t>(layout.scalar_bytes());
  for (const BlockSlot& slot : layout.slots())
    places[static_cast<std::size_t>(slot.block)] = {slot.start * scalar_bytes, slot.first_row, slot.size};
  return places;
}

}  // namespace

ApplyTiles make_apply_tiles(const BlockLayout& layout, const std::optional<TileLimits>& limits) {
  if (!limits) return {};
  ApplyTiles made{places_of(layout), {}};
  const int scalar_bytes = static_cast<int>(layout.scalar_bytes());
  int used = limits->bytes;  // the first block begins a tile
  index_t number = 0;
  for (const StoredSlot& block : made.blocks) {
    const int bytes = tile_bytes(block.size * block.size * scalar_bytes);
    if (used + bytes > limits->bytes || made.tiles.back().blocks == limits->blocks ||
        made.tiles.back().rows + block.size > limits->rows) {
      made.tiles.push_back({number, 0, block.first_row, 0});
      used = 0;
    }
    used += bytes;
    ++made.tiles.back().blocks;
    made.tiles.back().rows += block.size;
    ++number;
  }
  return made;
}

}  // namespace blockjacobi::detail
