#pragma once

#include "core/shared/apply_tiles.hpp"

#include <blockjacobi/block_batch.hpp>

#include <vector>

namespace blockjacobi::detail {

/// The blocks of a layout in the order of the matrix, dealt out to tiles: each takes as many of those that follow as it
/// has room for.
struct ApplyTiles {
  std::vector<StoredSlot> blocks;
  std::vector<ApplyTile> tiles;
};

/// Every block must have room in a tile.
inline ApplyTiles make_apply_tiles(const BlockLayout& layout, const TileLimits& limits) {
  const auto scalar_bytes = static_cast<offset_t>(layout.scalar_bytes());
  ApplyTiles made;
  made.blocks.resize(layout.slots().size());
  for (const BlockSlot& slot : layout.slots())
    made.blocks[static_cast<std::size_t>(slot.block)] = {slot.start * scalar_bytes, slot.first_row, slot.size};
  int used = limits.bytes;  // the first block begins a tile
  index_t number = 0;
  for (const StoredSlot& block : made.blocks) {
    const int bytes = tile_bytes(block.size * block.size * static_cast<int>(scalar_bytes));
    if (used + bytes > limits.bytes || made.tiles.back().blocks == limits.blocks ||
        made.tiles.back().rows + block.size > limits.rows) {
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
