#pragma once

#include "core/shared/storage_format.hpp"

namespace blockjacobi::detail {

/// Blocks that follow each other in the matrix, which an apply has in shared memory together.
struct ApplyTile {
  index_t first_block;
  index_t blocks;
  index_t first_row;
  index_t rows;
};

/// What a tile has room for.
struct TileLimits {
  int bytes;  ///< of blocks that take tile_bytes() each
  int blocks;
  int rows;
};

/// What so many bytes take of a tile, where they come in whole units of 16 bytes: they may begin and end off the
/// boundaries of these.
BLOCKJACOBI_HD constexpr int tile_bytes(int bytes) { return (bytes + 31) / 16 * 16; }

/// Tiles in the memory of a backend.
struct ApplyTilesView {
  const StoredSlot* blocks = nullptr;  ///< all of them, in the order of the matrix
  const ApplyTile* tiles = nullptr;
  index_t count = 0;
};

}  // namespace blockjacobi::detail
