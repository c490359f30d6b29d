#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace blockjacobi::test {
namespace {

TEST(BlockLayout, GroupsByOrderAndPacksBackToBack) {
  const BlockLayout layout(BlockPartition::from_offsets({0, 3, 5, 8, 9, 11}), sizeof(double));
  ASSERT_EQ(layout.groups().size(), 3u);
  EXPECT_EQ(layout.groups()[0].size, 1);
  EXPECT_EQ(layout.groups()[1].count, 2);
  EXPECT_EQ(layout.groups()[1].start, 16);  // the next multiple of 128 bytes
  EXPECT_EQ(layout.groups()[2].start, 32);
  EXPECT_EQ(layout.groups()[2].first_slot, 3);
  EXPECT_EQ(layout.size(), 32 + 2 * 9);
  const auto slots = layout.slots();
  EXPECT_EQ(slots[0].block, 3);
  EXPECT_EQ(slots[1].block, 1);
  EXPECT_EQ(slots[2].block, 4);
  EXPECT_EQ(slots[2].start, 16 + 4);
  EXPECT_EQ(slots[2].first_row, 9);
  EXPECT_EQ(slots[3].block, 0);
  EXPECT_EQ(slots[4].block, 2);
  EXPECT_EQ(slots[4].start, 32 + 9);
}

TEST(BlockLayout, UniformBlocksKeepTheirNumbering) {
  const BlockLayout layout(BlockPartition::uniform(100, 4), sizeof(float));
  for (index_t s = 0; s < layout.blocks(); ++s) {
    EXPECT_EQ(layout.slots()[static_cast<std::size_t>(s)].block, s);
    EXPECT_EQ(layout.slots()[static_cast<std::size_t>(s)].start, 16 * s);
  }
}

TEST(BlockLayout, SlotsAreSortedByOrderAndThenByNumber) {
  for (const BlockPartition& partition : {BlockPartition::uniform(22, 4), BlockPartition::uniform(3, 4),
                                          BlockPartition::from_offsets({0, 2, 5, 6, 11, 13, 14, 17}),
                                          BlockPartition::from_offsets({0, 512, 513, 1025})}) {
    const BlockLayout layout(partition, sizeof(double));
    std::vector<index_t> blocks(static_cast<std::size_t>(partition.blocks()));
    std::iota(blocks.begin(), blocks.end(), 0);
    std::ranges::stable_sort(blocks, {}, [&](index_t b) { return partition.block_size(b); });
    offset_t end = 0;
    for (std::size_t s = 0; s < blocks.size(); ++s) {
      const BlockSlot& slot = layout.slots()[s];
      EXPECT_EQ(slot.block, blocks[s]);
      EXPECT_EQ(slot.first_row, partition.first_row(slot.block));
      EXPECT_EQ(slot.size, partition.block_size(slot.block));
      const bool begins_group = s == 0 || slot.size != layout.slots()[s - 1].size;
      EXPECT_EQ(slot.start, begins_group ? (end + 15) / 16 * 16 : end);
      end = slot.start + offset_t{slot.size} * slot.size;
    }
    EXPECT_EQ(layout.size(), end);
  }
}

TEST(BlockLayout, PositionsPassThirtyTwoBits) {
  const BlockLayout layout(BlockPartition::uniform(512 * 10000, 512), 8);
  EXPECT_EQ(layout.size(), 512LL * 512 * 10000);
  EXPECT_EQ(layout.slots().back().start, 512LL * 512 * 9999);
}

TEST(BlockLayout, RefusesScalarsThatDoNotDivideTheAlignment) {
  EXPECT_THROW(BlockLayout(BlockPartition(), 24), InvalidArgument);
  EXPECT_THROW(BlockLayout(BlockPartition(), 0), InvalidArgument);
  EXPECT_EQ(BlockLayout(BlockPartition(), 8).size(), 0);
}

TEST(BlockBatch, RefusesALayoutOfOtherElements) {
  const BlockPartition partition = BlockPartition::uniform(10, 3);
  EXPECT_EQ(BlockBatch<double>(Backend::host(), BlockLayout(partition, 8)).layout().blocks(), 4);
  EXPECT_THROW(BlockBatch<double>(Backend::host(), BlockLayout(partition, 4)), InvalidArgument);
}

TEST(Array, CopiesAndZeroes) {
  Array<double> a(Backend::host(), std::vector<double>{1.0, 2.0});
  EXPECT_EQ(a.to_host(), (std::vector<double>{1.0, 2.0}));
  EXPECT_EQ(a.view().size, 2);
  EXPECT_EQ(a.bytes(), 16u);
  a.zero();
  EXPECT_EQ(a.to_host(), (std::vector<double>{0.0, 0.0}));
  Array<double> b = std::move(a);
  EXPECT_EQ(b.to_host().size(), 2u);
}

TEST(Array, RefusesSizesThatOverflow) {
  EXPECT_THROW(Array<double>(Backend::host(), (std::size_t{1} << 61) + 4), InvalidArgument);
}

TEST(Backend, HostSaysWhatItIs) {
  EXPECT_EQ(Backend::host(1).description(), "host, 1 thread");
  EXPECT_EQ(Backend::host(3).threads(), 3);
  EXPECT_EQ(Backend::host().memory_space(), MemorySpace::host);
  const Backend a = Backend::host(), b = a;
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(a == Backend::host());
  EXPECT_THROW((void)Backend::host(-1), InvalidArgument);
  EXPECT_THROW((void)Backend::host(1025), InvalidArgument);
  EXPECT_THROW(a.set_stream(nullptr), InvalidArgument);
}

TEST(Backend, AbsentCudaIsNamed) {
  if (Backend::cuda_available()) GTEST_SKIP() << "a CUDA device is there";
  EXPECT_THROW((void)Backend::cuda(), BackendUnavailable);
}

TEST(BlockLayout, FirstRowsOfBlocksThatFollowEachOther) {
  const BlockLayout uniform(BlockPartition::uniform(22, 4), sizeof(double));
  ASSERT_EQ(uniform.groups().size(), 2u);
  EXPECT_EQ(uniform.groups()[0].first_row, 20);  // the last block, of order 2
  EXPECT_EQ(uniform.groups()[1].first_row, 0);
  // Orders 3, 1, 1, 3, 2: the two of order 3 have others between them.
  const BlockLayout mixed(BlockPartition::from_offsets({0, 3, 4, 5, 8, 10}), sizeof(double));
  ASSERT_EQ(mixed.groups().size(), 3u);
  EXPECT_EQ(mixed.groups()[0].first_row, 3);
  EXPECT_EQ(mixed.groups()[1].first_row, 8);
  EXPECT_EQ(mixed.groups()[2].first_row, -1);
}

}  // namespace
}  // namespace blockjacobi::test
