#pragma once

#include "core/shared/apply_tiles.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>

#include <optional>
#include <vector>

namespace blockjacobi::detail {

/// The blocks of a layout in the order of the matrix, dealt out to tiles: each takes as many of those that follow as it
/// has room for.
struct ApplyTiles {
  std::vector<StoredSlot> blocks;
  std::vector<ApplyTile> tiles;
};

/// None without limits; every block must have room in a tile.
ApplyTiles make_apply_tiles(const BlockLayout& layout, const std::optional<TileLimits>& limits);

/// The same in backend memory.
class BackendTiles {
 public:
  BackendTiles(const Backend& backend, const ApplyTiles& tiles)
      : blocks_(backend, tiles.blocks), tiles_(backend, tiles.tiles) {}

  bool empty() const { return tiles_.size() == 0; }
  ApplyTilesView view() const { return {blocks_.data(), tiles_.data(), static_cast<index_t>(tiles_.size())}; }
  std::size_t bytes() const { return blocks_.bytes() + tiles_.bytes(); }
  static std::size_t required_bytes(const ApplyTiles& tiles) {
    return tiles.blocks.size() * sizeof(StoredSlot) + tiles.tiles.size() * sizeof(ApplyTile);
  }

 private:
  Array<StoredSlot> blocks_;
  Array<ApplyTile> tiles_;
};

}  // namespace blockjacobi::detail
