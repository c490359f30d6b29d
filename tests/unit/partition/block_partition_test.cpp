#include "support/messages.hpp"
#include "support/random.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <set>

namespace blockjacobi::test {
namespace {

std::vector<index_t> offsets_of(const BlockPartition& p) { return {p.offsets().begin(), p.offsets().end()}; }

/// A pattern from the column lists of its rows.
CsrMatrix<double> pattern(const std::vector<std::vector<index_t>>& rows) {
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  for (const auto& row : rows) {
    columns.insert(columns.end(), row.begin(), row.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  const auto n = static_cast<index_t>(rows.size());
  return CsrMatrix<double>(n, n, offsets, columns, std::vector<double>(columns.size(), 1.0));
}

/// The rule of detect() in its plainest form: sets of columns, two passes.
std::vector<index_t> naive_detect(const std::vector<std::vector<index_t>>& rows, index_t max_size) {
  std::vector<index_t> sizes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool same =
        i > 0 && std::set(rows[i].begin(), rows[i].end()) == std::set(rows[i - 1].begin(), rows[i - 1].end());
    if (same && sizes.back() < max_size)
      ++sizes.back();
    else
      sizes.push_back(1);
  }
  std::vector<index_t> offsets{0};
  index_t current = 0;
  for (const index_t size : sizes) {
    if (current > 0 && current + size > max_size) {
      offsets.push_back(offsets.back() + current);
      current = 0;
    }
    current += size;
  }
  if (current > 0) offsets.push_back(offsets.back() + current);
  return offsets;
}

TEST(BlockPartition, UniformMakesTheLastBlockShorter) {
  EXPECT_EQ(offsets_of(BlockPartition::uniform(10, 4)), (std::vector<index_t>{0, 4, 8, 10}));
  EXPECT_EQ(offsets_of(BlockPartition::uniform(8, 4)), (std::vector<index_t>{0, 4, 8}));
  EXPECT_EQ(offsets_of(BlockPartition::uniform(3, 512)), (std::vector<index_t>{0, 3}));
  EXPECT_EQ(offsets_of(BlockPartition::uniform(0, 4)), (std::vector<index_t>{0}));
  const auto p = BlockPartition::uniform(2147483647, 512);  // no overflow at the end of the range
  EXPECT_EQ(p.rows(), 2147483647);
  EXPECT_EQ(p.block_size(p.blocks() - 1), 511);
}

TEST(BlockPartition, UniformOrNotTheSameQuestionsHaveTheSameAnswers) {
  for (const std::vector<index_t>& offsets :
       {std::vector<index_t>{0, 4, 8, 10}, {0, 4, 8}, {0, 3}, {0, 1}, {0, 2, 6, 10}, {0, 4, 6, 10}, {0, 4, 8, 13}}) {
    const auto p = BlockPartition::from_offsets(offsets);
    index_t largest = 0;
    for (index_t b = 0; b < p.blocks(); ++b) {
      const auto k = static_cast<std::size_t>(b);
      EXPECT_EQ(p.first_row(b), offsets[k]);
      EXPECT_EQ(p.block_size(b), offsets[k + 1] - offsets[k]);
      largest = std::max(largest, p.block_size(b));
    }
    EXPECT_EQ(p.blocks(), std::ssize(offsets) - 1);
    EXPECT_EQ(p.rows(), offsets.back());
    EXPECT_EQ(p.first_row(p.blocks()), p.rows());
    EXPECT_EQ(p.largest_block(), largest);
    EXPECT_EQ(offsets_of(p), offsets);
    EXPECT_EQ(p.view().offsets, p.offsets().data());
  }
}

TEST(BlockPartition, EqualIfTheOffsetsAre) {
  const auto uniform = BlockPartition::uniform(10, 4);
  EXPECT_EQ(uniform, BlockPartition::from_offsets({0, 4, 8, 10}));
  EXPECT_EQ(BlockPartition::uniform(3, 512), BlockPartition::uniform(3, 3));
  EXPECT_EQ(BlockPartition::from_offsets({0, 2, 6, 10}), BlockPartition::from_offsets({0, 2, 6, 10}));
  EXPECT_NE(uniform, BlockPartition::from_offsets({0, 4, 6, 10}));
  EXPECT_NE(BlockPartition::from_offsets({0, 2, 6, 10}), BlockPartition::from_offsets({0, 4, 6, 10}));
  EXPECT_NE(uniform, BlockPartition::uniform(10, 5));
  EXPECT_NE(uniform, BlockPartition::uniform(11, 4));
  EXPECT_NE(uniform, BlockPartition());
  EXPECT_NE(BlockPartition(), uniform);
}

TEST(BlockPartition, UniformRefusesBadSizes) {
  EXPECT_EQ(message_of([] { (void)BlockPartition::uniform(-1, 4); }),
            "BlockPartition::uniform: rows is -1, must be >= 0");
  EXPECT_EQ(message_of([] { (void)BlockPartition::uniform(5, 0); }),
            "BlockPartition::uniform: block size is 0, must be in 1..512");
  EXPECT_EQ(message_of([] { (void)BlockPartition::uniform(5, 513); }),
            "BlockPartition::uniform: block size is 513, must be in 1..512");
}

TEST(BlockPartition, FromOffsetsNamesTheBlock) {
  const auto p = BlockPartition::from_offsets({0, 1, 513, 515});
  EXPECT_EQ(p.blocks(), 3);
  EXPECT_EQ(p.largest_block(), 512);
  EXPECT_EQ(p.first_row(2), 513);
  EXPECT_EQ(BlockPartition::from_offsets({0}).rows(), 0);
  EXPECT_EQ(message_of([] { (void)BlockPartition::from_offsets({}); }),
            "BlockPartition::from_offsets: no offsets, must hold at least 0");
  EXPECT_EQ(message_of([] {
              (void)BlockPartition::from_offsets({1, 2});
            }),
            "BlockPartition::from_offsets: the first offset is 1, must be 0");
  EXPECT_EQ(message_of([] {
              (void)BlockPartition::from_offsets({0, 3, 3});
            }),
            "BlockPartition::from_offsets: block 1 goes from row 3 to row 3 (exclusive): 0 rows, must be 1..512");
  EXPECT_EQ(message_of([] {
              (void)BlockPartition::from_offsets({0, 5, 2});
            }),
            "BlockPartition::from_offsets: block 1 goes from row 5 to row 2 (exclusive): -3 rows, must be 1..512");
  EXPECT_EQ(message_of([] {
              (void)BlockPartition::from_offsets({0, 513});
            }),
            "BlockPartition::from_offsets: block 0 goes from row 0 to row 513 (exclusive): 513 rows, must be 1..512");
}

TEST(BlockPartition, DetectFindsSupervariablesAndMergesThem) {
  const auto a = pattern({{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {3}, {4, 5}, {4, 5}});
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, 1)), (std::vector<index_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, 2)), (std::vector<index_t>{0, 2, 4, 6}));
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, 3)), (std::vector<index_t>{0, 3, 6}));
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, 4)), (std::vector<index_t>{0, 4, 6}));
  EXPECT_EQ(offsets_of(BlockPartition::detect(a)), (std::vector<index_t>{0, 6}));
}

TEST(BlockPartition, DetectMergesTheRowsOfADiagonalMatrix) {
  std::vector<std::vector<index_t>> rows;
  for (index_t i = 0; i < 70; ++i) rows.push_back({i});
  EXPECT_EQ(offsets_of(BlockPartition::detect(pattern(rows), 32)), (std::vector<index_t>{0, 32, 64, 70}));
}

TEST(BlockPartition, DetectOfAnEmptyMatrix) { EXPECT_EQ(BlockPartition::detect(CsrMatrix<double>()).blocks(), 0); }

TEST(BlockPartition, DetectEqualsTheNaiveRuleOnRandomPatterns) {
  Random random(1);
  for (int repeat = 0; repeat < 200; ++repeat) {
    const index_t n = 1 + random.index(40);
    std::vector<std::vector<index_t>> rows;
    while (static_cast<index_t>(rows.size()) < n) {
      std::set<index_t> columns;
      for (index_t k = random.index(4); k >= 0; --k) columns.insert(random.index(n));
      const index_t copies = 1 + random.index(6);
      for (index_t c = 0; c < copies && static_cast<index_t>(rows.size()) < n; ++c)
        rows.emplace_back(columns.begin(), columns.end());
    }
    const auto a = pattern(rows);
    for (const index_t max_size : {1, 2, 3, 7, 32}) {
      const auto found = BlockPartition::detect(a, max_size);
      EXPECT_EQ(offsets_of(found), naive_detect(rows, max_size)) << "maximum " << max_size;
    }
  }
}

TEST(BlockPartition, DetectTakesUnsortedRowsDuplicatesAndBaseOne) {
  const std::vector<std::int32_t> offsets{1, 4, 6, 9};
  const std::vector<index_t> columns{2, 1, 2, 1, 2, 3, 3, 1};
  const CsrView<double, std::int32_t> view{
      3, 3, 8, offsets.data(), columns.data(), nullptr, IndexBase::one, MemorySpace::host};
  EXPECT_EQ(offsets_of(BlockPartition::detect(view, 2)), (std::vector<index_t>{0, 2, 3}));
}

TEST(BlockPartition, DetectRefusesWhatItCannotUse) {
  EXPECT_EQ(message_of([] { (void)BlockPartition::detect(pattern({{0}}), 0); }),
            "BlockPartition::detect: block size is 0, must be in 1..512");
  const CsrMatrix<double> rectangle(2, 3, {0, 0, 0}, {}, {});
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(rectangle); }),
            "BlockPartition::detect: the matrix is 2 x 3, must be square");
  CsrView<double> device = rectangle.view();
  device.space = MemorySpace::device;
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(device); }),
            "BlockPartition::detect: the matrix lies on the device; pass its backend as well");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(Backend::host(3), device); }),
            "BlockPartition::detect: the matrix lies on the device, the backend is host, 3 threads");
  const std::vector<offset_t> offsets{0, 1};
  const std::vector<index_t> columns{4};
  const CsrView<double> outside{1, 1, 1, offsets.data(), columns.data(), nullptr, IndexBase::zero, MemorySpace::host};
  EXPECT_NE(message_of([&] { (void)BlockPartition::detect(outside); }), "no InvalidArgument");
}

}  // namespace
}  // namespace blockjacobi::test
