#include "backend/cuda_apply_tiles.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace blockjacobi::test {
namespace {

using detail::ApplyTile;
using detail::ApplyTiles;
using detail::make_apply_tiles;
using detail::StoredSlot;
using detail::tile_bytes;
using detail::TileLimits;

constexpr int scalar_bytes = 4;

ApplyTiles tiles_of(const BlockPartition& partition, const TileLimits& limits) {
  return make_apply_tiles(BlockLayout(partition, scalar_bytes), limits);
}

/// Orders 1 to `largest` in random sequence.
BlockPartition random_partition(index_t largest, int blocks) {
  std::mt19937 generator(1);
  std::uniform_int_distribution<index_t> order(1, largest);
  std::vector<index_t> offsets{0};
  for (int b = 0; b < blocks; ++b) offsets.push_back(offsets.back() + order(generator));
  return BlockPartition::from_offsets(offsets);
}

TEST(ApplyTiles, HoldEveryBlockOnceInTheOrderOfTheMatrix) {
  const BlockPartition partition = random_partition(32, 5000);
  const BlockLayout layout(partition, scalar_bytes);
  for (const TileLimits limits : {TileLimits{4608, 32, 128}, TileLimits{4608, 1, 128}, TileLimits{5000, 7, 33}}) {
    const ApplyTiles made = make_apply_tiles(layout, limits);
    ASSERT_EQ(made.blocks.size(), 5000u);
    for (const BlockSlot& slot : layout.slots()) {
      const StoredSlot& block = made.blocks[static_cast<std::size_t>(slot.block)];
      EXPECT_EQ(block.start, slot.start * scalar_bytes);
      EXPECT_EQ(block.first_row, slot.first_row);
      EXPECT_EQ(block.size, slot.size);
    }
    index_t next = 0, row = 0;
    for (const ApplyTile& tile : made.tiles) {
      ASSERT_EQ(tile.first_block, next);
      ASSERT_EQ(tile.first_row, row);
      int bytes = 0;
      for (index_t b = next; b < next + tile.blocks; ++b)
        bytes += tile_bytes(partition.block_size(b) * partition.block_size(b) * scalar_bytes);
      EXPECT_LE(bytes, limits.bytes);
      EXPECT_LE(tile.blocks, limits.blocks);
      EXPECT_LE(tile.rows, limits.rows);
      next += tile.blocks;
      row += tile.rows;
      if (next == partition.blocks()) break;
      // The next block has no room.
      const index_t n = partition.block_size(next);
      EXPECT_TRUE(bytes + tile_bytes(n * n * scalar_bytes) > limits.bytes || tile.blocks == limits.blocks ||
                  tile.rows + n > limits.rows);
    }
    EXPECT_EQ(next, partition.blocks());
    EXPECT_EQ(row, partition.rows());
  }
}

TEST(ApplyTiles, RoomIsEnoughWhereverABlockBegins) {
  for (int bytes = 2; bytes <= 8192; bytes += 2)
    for (int shift = 0; shift < 16; shift += 2) EXPECT_LE((shift + bytes + 15) / 16 * 16, tile_bytes(bytes));
}

TEST(ApplyTiles, OfFewBlocks) {
  const TileLimits limits{4608, 32, 128};
  EXPECT_TRUE(tiles_of(BlockPartition(), limits).tiles.empty());
  EXPECT_TRUE(tiles_of(BlockPartition(), limits).blocks.empty());

  const ApplyTiles one = tiles_of(BlockPartition::from_offsets({0, 32}), limits);
  ASSERT_EQ(one.tiles.size(), 1u);
  EXPECT_EQ(one.tiles[0].blocks, 1);
  EXPECT_EQ(one.tiles[0].rows, 32);

  // As many rows as there may be, as many blocks, and a block more.
  EXPECT_EQ(tiles_of(BlockPartition::uniform(128, 4), limits).tiles.size(), 1u);
  EXPECT_EQ(tiles_of(BlockPartition::uniform(132, 4), limits).tiles.size(), 2u);
  EXPECT_EQ(tiles_of(BlockPartition::uniform(33, 1), limits).tiles.size(), 2u);
}

}  // namespace
}  // namespace blockjacobi::test
