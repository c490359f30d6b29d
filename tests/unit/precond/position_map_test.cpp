#include "precond/position_map.hpp"

#include "support/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace blockjacobi::test {
namespace {

using detail::build_position_map;
using detail::map_entry;
using detail::MapEntry;
using detail::MapSlot;
using detail::PositionMap;

/// visit(slot, entry) over the whole map; `layout` tells the orders.
template <class Visit>
void for_each_entry(const PositionMap& map, const BlockLayout& layout, Visit visit) {
  EXPECT_TRUE(map.narrow.empty() || map.wide.empty());
  for (std::size_t s = 0; s + 1 < map.slots.size(); ++s) {
    const MapSlot& slot = map.slots[s];
    const index_t n = slot.row_stride != 0 ? layout.slots()[s].size : 0;
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) visit(s, MapEntry{slot.first_source + i * slot.row_stride + j, i, j});
    for (auto e = static_cast<std::size_t>(map.slots[s].begin); e < static_cast<std::size_t>(map.slots[s + 1].begin);
         ++e)
      visit(s, map.wide.empty() ? map_entry(map.narrow[e], map.slots[s]) : map_entry(map.wide[e], map.slots[s]));
  }
}

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
  EXPECT_EQ(map.entries, 5);
  // slots are sorted by order: the 1 x 1 block first
  std::vector<std::size_t> slots;
  std::vector<offset_t> sources;
  std::vector<index_t> positions;
  for_each_entry(map, layout, [&](std::size_t s, const MapEntry& entry) {
    slots.push_back(s);
    sources.push_back(entry.source);
    positions.push_back(entry.row + 2 * entry.column);
  });
  EXPECT_EQ(slots, (std::vector<std::size_t>{0, 1, 1, 1, 1}));
  EXPECT_EQ(sources, (std::vector<offset_t>{5, 1, 0, 2, 3}));
  EXPECT_EQ(positions, (std::vector<index_t>{0, 0, 2, 2, 3}));
  EXPECT_TRUE(map.duplicates);
  EXPECT_TRUE(map.wide.empty());
}

TEST(PositionMap, NeedsNoWordsForFullBlocksWithRowsAtOneDistance) {
  // columns of the rows; a block of two rows each
  struct Case {
    std::vector<std::vector<index_t>> rows;
    offset_t row_stride;
  };
  const Case cases[] = {
      {{{0, 1}, {0, 1}, {2, 3}, {2, 3}}, 2},        // side by side
      {{{0, 1, 3}, {0, 1, 2}, {2, 3}, {2, 3}}, 3},  // with others behind
      {{{0, 1, 3}, {3, 0, 1}, {2, 3}, {2, 3}}, 4},  // at another place of the row
      {{{1, 0}, {0, 1}, {2, 3}, {2, 3}}, 0},        // a row out of order
      {{{0, 3, 1}, {0, 3, 1}, {2, 3}, {2, 3}}, 0},  // not side by side
      {{{0, 1}, {1}, {2, 3}, {2, 3}}, 0},           // an element without entry
      {{{0, 1, 1}, {0, 1}, {2, 3}, {2, 3}}, 0},     // one with two
      {{{0, 0}, {1, 1}, {2, 3}, {2, 3}}, 0},        // as many entries as elements, but two each
  };
  for (const Case& c : cases) {
    std::vector<std::int32_t> offsets{0};
    std::vector<index_t> columns;
    for (const auto& row : c.rows) {
      columns.insert(columns.end(), row.begin(), row.end());
      offsets.push_back(static_cast<std::int32_t>(columns.size()));
    }
    const BlockLayout layout(BlockPartition::from_offsets({0, 2, 4}), 8);
    const PositionMap map = build_position_map(view_of<std::int32_t>(4, offsets, columns, IndexBase::zero), layout, 1);
    SCOPED_TRACE(::testing::PrintToString(columns));
    EXPECT_EQ(map.slots[0].row_stride, c.row_stride);
    EXPECT_EQ(map.slots[1].row_stride, 2);
    EXPECT_EQ(map.slots[1].first_source, static_cast<offset_t>(columns.size()) - 4);
    EXPECT_EQ(map.narrow.empty(), c.row_stride != 0);
    EXPECT_EQ(map.slots[2].begin, static_cast<offset_t>(map.narrow.size()));
  }
}

/// One block of two rows, the first with `far` entries outside of the block behind its only entry inside.
PositionMap map_of_long_row(offset_t far, const BlockLayout& layout) {
  const std::vector<std::int64_t> offsets{0, far + 1, far + 2, far + 3};
  std::vector<index_t> columns(static_cast<std::size_t>(far) + 3, 2);
  columns.front() = 0;
  columns[static_cast<std::size_t>(far) + 1] = 1;
  return build_position_map(view_of<std::int64_t>(3, offsets, columns, IndexBase::zero), layout, 1);
}

TEST(PositionMap, WidensWhereABlockSpansTooManyValues) {
  constexpr offset_t span = offset_t{1} << 22;
  const BlockLayout layout(BlockPartition::from_offsets({0, 2, 3}), 8);
  for (const offset_t far : {span - 2, span - 1}) {
    const PositionMap map = map_of_long_row(far, layout);
    EXPECT_EQ(map.wide.empty(), far == span - 2);
    EXPECT_FALSE(map.duplicates);
    std::vector<offset_t> sources;
    for_each_entry(map, layout, [&](std::size_t, const MapEntry& entry) { sources.push_back(entry.source); });
    EXPECT_EQ(sources, (std::vector<offset_t>{far + 2, 0, far + 1}));
  }
}

TEST(PositionMap, WidensWhereABlockIsLarge) {
  const index_t n = max_block_size;
  std::vector<std::int32_t> offsets(static_cast<std::size_t>(n) + 1);
  std::vector<index_t> columns;
  for (index_t i = 0; i < n; ++i) {
    columns.push_back(n - 1);
    offsets[static_cast<std::size_t>(i) + 1] = i + 1;
  }
  const BlockLayout layout(BlockPartition::from_offsets({0, n}), 8);
  const PositionMap map = build_position_map(view_of<std::int32_t>(n, offsets, columns, IndexBase::zero), layout, 1);
  EXPECT_TRUE(map.narrow.empty());
  index_t row = 0;
  for_each_entry(map, layout, [&](std::size_t, const MapEntry& entry) {
    EXPECT_EQ(entry.source, row);
    EXPECT_EQ(entry.row, row);
    EXPECT_EQ(entry.column, n - 1);
    ++row;
  });
  EXPECT_EQ(row, n);
}

TEST(PositionMap, EqualsADenseExtractionOnRandomPatterns) {
  Random random(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const index_t n = 1 + random.index(60);
    std::vector<std::int64_t> offsets{0};
    std::vector<index_t> columns;
    for (index_t row = 0; row < n; ++row) {
      const std::ptrdiff_t begin = std::ssize(columns);
      for (index_t k = random.index(12); k > 0; --k) columns.push_back(random.index(n));
      if (repeat % 2 == 0) {  // sorted rows without duplicates go another way
        std::sort(columns.begin() + begin, columns.end());
        columns.erase(std::unique(columns.begin() + begin, columns.end()), columns.end());
      }
      offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    std::vector<index_t> block_offsets{0};
    while (block_offsets.back() < n)
      block_offsets.push_back(std::min<index_t>(n, block_offsets.back() + 1 + random.index(9)));
    const auto partition = BlockPartition::from_offsets(block_offsets);
    const BlockLayout layout(partition, 8);
    const PositionMap map = build_position_map(view_of<std::int64_t>(n, offsets, columns, IndexBase::zero), layout, 1);

    std::vector<double> dense(static_cast<std::size_t>(n) * static_cast<std::size_t>(n), 0.0);
    for (index_t row = 0; row < n; ++row)
      for (auto k = offsets[static_cast<std::size_t>(row)]; k < offsets[static_cast<std::size_t>(row) + 1]; ++k)
        dense[static_cast<std::size_t>(row * n + columns[static_cast<std::size_t>(k)])] += static_cast<double>(k + 1);
    for_each_entry(map, layout, [&](std::size_t s, const MapEntry& entry) {
      const BlockSlot& slot = layout.slots()[s];
      const auto e = static_cast<std::size_t>((slot.first_row + entry.row) * n + slot.first_row + entry.column);
      dense[e] -= static_cast<double>(entry.source + 1);
    });
    for (const BlockSlot& slot : layout.slots())  // nothing of the blocks is left over, nothing was taken twice
      for (index_t i = slot.first_row; i < slot.first_row + slot.size; ++i)
        for (index_t j = slot.first_row; j < slot.first_row + slot.size; ++j)
          EXPECT_EQ(dense[static_cast<std::size_t>(i * n + j)], 0.0);
  }
}

}  // namespace
}  // namespace blockjacobi::test
