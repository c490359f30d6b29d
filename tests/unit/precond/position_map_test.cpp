#include "precond/position_map.hpp"

#include "support/random.hpp"

#include <gtest/gtest.h>

namespace blockjacobi::test {
namespace {

using detail::build_position_map;
using detail::PositionMap;

template <Offset O>
CsrView<const void, O> view_of(index_t n, const std::vector<O>& offsets, const std::vector<index_t>& columns,
                               IndexBase base) {
  return {
      n, n, static_cast<offset_t>(columns.size()), offsets.data(), columns.data(), nullptr, base, MemorySpace::host};
}

TEST(PositionMap, KeepsDuplicatesTogetherInTheirOrder) {
  // rows of one 2 x 2 block: (0,1) (0,0) (0,1) and (1,1); then a 1 x 1 block with a far entry
  const std::vector<std::int32_t> offsets{1, 4, 5, 7};
  const std::vector<index_t> columns{2, 1, 2, 2, 1, 3};
  const auto partition = BlockPartition::from_offsets({0, 2, 3});
  const BlockLayout layout(partition, 8);
  const PositionMap map = build_position_map(view_of<std::int32_t>(3, offsets, columns, IndexBase::one), layout, 2);
  // slots are sorted by order: the 1 x 1 block first
  EXPECT_EQ(map.begin, (std::vector<offset_t>{0, 1, 5}));
  EXPECT_EQ(map.source, (std::vector<offset_t>{5, 1, 0, 2, 3}));
  EXPECT_EQ(map.position, (std::vector<index_t>{0, 0, 2, 2, 3}));
}

TEST(PositionMap, EqualsADenseExtractionOnRandomPatterns) {
  Random random(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const index_t n = 1 + random.index(60);
    std::vector<std::int64_t> offsets{0};
    std::vector<index_t> columns;
    for (index_t row = 0; row < n; ++row) {
      for (index_t k = random.index(12); k > 0; --k) columns.push_back(random.index(n));
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    std::vector<index_t> block_offsets{0};
    while (block_offsets.back() < n)
      block_offsets.push_back(std::min<index_t>(n, block_offsets.back() + 1 + random.index(9)));
    const auto partition = BlockPartition::from_offsets(block_offsets);
    const BlockLayout layout(partition, 8);
    const PositionMap map = build_position_map(view_of<std::int64_t>(n, offsets, columns, IndexBase::zero), layout, 1);

    std::vector<double> dense(static_cast<std::size_t>(n) * static_cast<std::size_t>(n), 0.0), found = dense;
    for (index_t row = 0; row < n; ++row)
      for (auto k = offsets[static_cast<std::size_t>(row)]; k < offsets[static_cast<std::size_t>(row) + 1]; ++k)
        dense[static_cast<std::size_t>(row * n + columns[static_cast<std::size_t>(k)])] += static_cast<double>(k + 1);
    for (std::size_t s = 0; s < layout.slots().size(); ++s) {
      const BlockSlot& slot = layout.slots()[s];
      for (offset_t e = map.begin[s]; e < map.begin[s + 1]; ++e) {
        const index_t p = map.position[static_cast<std::size_t>(e)];
        const index_t i = slot.first_row + p % slot.size, j = slot.first_row + p / slot.size;
        found[static_cast<std::size_t>(i * n + j)] += static_cast<double>(map.source[static_cast<std::size_t>(e)] + 1);
        dense[static_cast<std::size_t>(i * n + j)] -= static_cast<double>(map.source[static_cast<std::size_t>(e)] + 1);
      }
    }
    for (const BlockSlot& slot : layout.slots())  // nothing of the blocks is left over, nothing was taken twice
      for (index_t i = slot.first_row; i < slot.first_row + slot.size; ++i)
        for (index_t j = slot.first_row; j < slot.first_row + slot.size; ++j)
          EXPECT_EQ(dense[static_cast<std::size_t>(i * n + j)], 0.0);
  }
}

}  // namespace
}  // namespace blockjacobi::test
