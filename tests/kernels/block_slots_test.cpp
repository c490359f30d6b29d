#include "core/layout_impl.hpp"
#include "core/partition_impl.hpp"
#include "tests/kernels/counting_resource.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/random.hpp"

#include <algorithm>

namespace blockjacobi::test {
namespace {

class BlockSlotsTest : public DeviceTest {};

void expect_the_slots_of_the_host(const Backend& backend, const BlockPartition& partition) {
  SCOPED_TRACE(::testing::Message() << partition.rows() << " rows, blocks of up to " << partition.largest_block());
  for (const std::size_t scalar_bytes : {std::size_t{4}, std::size_t{16}}) {
    const BlockLayout layout(partition, scalar_bytes);
    const std::vector<BlockSlot> found = detail::slots_in(backend, layout).to_host();
    ASSERT_EQ(found.size(), layout.slots().size());
    for (std::size_t s = 0; s < found.size(); ++s) {
      const BlockSlot& expected = layout.slots()[s];
      ASSERT_EQ(found[s].block, expected.block) << s;
      ASSERT_EQ(found[s].size, expected.size) << s;
      ASSERT_EQ(found[s].first_row, expected.first_row) << s;
      ASSERT_EQ(found[s].start, expected.start) << s;
    }
  }
}

/// Orders 1 .. largest in random sequence, the first of them such that blocks are not uniform.
BlockPartition random_partition(index_t blocks, index_t largest) {
  Random random(static_cast<std::uint64_t>(blocks + largest));
  std::vector<index_t> offsets{0, 1, 3, 4};
  while (std::ssize(offsets) <= blocks) offsets.push_back(offsets.back() + 1 + random.index(largest));
  return BlockPartition::from_offsets(offsets);
}

TEST_F(BlockSlotsTest, UniformBlocks) {
  const Backend backend = Backend::cuda();
  for (const index_t rows : {1, 7, 256, 1000, 99'999})
    for (const index_t order : {1, 3, 8, 512})
      expect_the_slots_of_the_host(backend, BlockPartition::uniform(rows, order));
}

TEST_F(BlockSlotsTest, GivenBlocksOfManyOrders) {
  const Backend backend = Backend::cuda();
  for (const index_t blocks : {3, 33, 5000, 300'000})
    for (const index_t largest : {2, 32, 512}) expect_the_slots_of_the_host(backend, random_partition(blocks, largest));
}

/// Dense diagonal blocks.
std::vector<std::int32_t> dense_blocks(const BlockPartition& partition, std::vector<index_t>& columns) {
  std::vector<std::int32_t> offsets{0};
  for (index_t b = 0; b < partition.blocks(); ++b)
    for (index_t i = 0; i < partition.block_size(b); ++i) {
      for (index_t j = 0; j < partition.block_size(b); ++j) columns.push_back(partition.first_row(b) + j);
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
  return offsets;
}

/// Detected without merging, on the device.
BlockPartition detected(const Backend& backend, const BlockPartition& partition) {
  std::vector<index_t> columns;
  const Array<std::int32_t> offsets(backend, dense_blocks(partition, columns));
  const Array<index_t> device_columns(backend, columns);
  const CsrView<double, std::int32_t> matrix{
      partition.rows(), partition.rows(),      static_cast<offset_t>(columns.size()),
      offsets.data(),   device_columns.data(), nullptr,
      IndexBase::zero,  MemorySpace::device};
  return BlockPartition::detect(backend, matrix, DetectOptions{.max_size = 512, .merge = Merge::none});
}

TEST_F(BlockSlotsTest, DetectedBlocksOfManyOrdersStayOnTheDevice) {
  const Backend backend = Backend::cuda();
  for (const index_t blocks : {3, 33, 5000})
    for (const index_t largest : {2, 32, 64}) {
      const BlockPartition given = random_partition(blocks, largest), found = detected(backend, given);
      ASSERT_NE(found.impl()->offsets_in(backend), nullptr);
      EXPECT_EQ(found.impl()->offsets_in(Backend::cuda()), nullptr);
      expect_the_slots_of_the_host(backend, found);
      EXPECT_EQ(found, given);
    }
}

TEST_F(BlockSlotsTest, DetectedUniformBlocksTakeNoMemory) {
  const auto resource = std::make_shared<CountingResource>();
  const Backend backend = Backend::cuda(0, nullptr, resource);
  const std::size_t before = resource->live;
  for (const index_t rows : {1, 64, 66, 100'003})
    for (const index_t order : {1, 5, 32}) {
      const BlockPartition given = BlockPartition::uniform(rows, order), found = detected(backend, given);
      EXPECT_EQ(resource->live, before);
      EXPECT_EQ(found.impl()->uniform_size(), given.impl()->uniform_size());
      EXPECT_EQ(found, given);
      EXPECT_TRUE(std::ranges::equal(found.offsets(), given.offsets()));
    }
}

}  // namespace
}  // namespace blockjacobi::test
