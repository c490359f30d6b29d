#include "precond/position_map.hpp"
#include "backend/backend_impl.hpp"
#include "core/shared/fingerprint.hpp"
#include "precond/l1_values.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/backends.hpp"
#include "tests/support/random.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <algorithm>
#include <cstring>

namespace blockjacobi::test {
namespace {

using detail::BackendMap;
using detail::MapSlot;
using detail::PatternCheck;
using detail::PositionMap;

class PositionMapTest : public DeviceTest {};

template <Offset O>
struct Pattern {
  index_t n;
  std::vector<O> offsets;
  std::vector<index_t> columns;
  IndexBase base = IndexBase::zero;

  CsrView<const void, O> view(const O* offsets_, const index_t* columns_, MemorySpace space) const {
    return {n, n, static_cast<offset_t>(columns.size()), offsets_, columns_, nullptr, base, space};
  }
  CsrView<const void, O> host() const { return view(offsets.data(), columns.data(), MemorySpace::host); }
};

/// Rows of sorted columns: a part of the neighbours, so that blocks are full, regular, sparse or empty.
template <Offset O>
Pattern<O> random_pattern(index_t n, IndexBase base, int seed) {
  Random random(static_cast<std::uint64_t>(seed));
  const auto first = static_cast<index_t>(base);
  Pattern<O> p{n, {static_cast<O>(first)}, {}, base};
  const index_t percent[] = {0, 30, 100, 90};
  for (index_t i = 0; i < n; ++i) {
    const index_t kept = percent[(i / 64 + seed) % 4];
    for (index_t j = std::max(0, i - 40); j < std::min(n, i + 40); ++j)
      if (random.index(100) < kept) p.columns.push_back(j + first);
    p.offsets.push_back(static_cast<O>(p.columns.size()) + static_cast<O>(first));
  }
  return p;
}

template <Offset O>
class DevicePattern {
 public:
  DevicePattern(const Backend& backend, const Pattern<O>& p)
      : pattern_(p), offsets_(backend, p.offsets), columns_(backend, p.columns) {}
  CsrView<const void, O> view() const { return pattern_.view(offsets_.data(), columns_.data(), MemorySpace::device); }

 private:
  Pattern<O> pattern_;
  Array<O> offsets_;
  Array<index_t> columns_;
};

template <Offset O>
std::uint64_t fingerprint(const Pattern<O>& p) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < p.offsets.size(); ++i)
    sum += detail::mixed_offset(static_cast<std::int64_t>(i), p.offsets[i] - static_cast<O>(p.base));
  for (std::size_t k = 0; k < p.columns.size(); ++k)
    sum += detail::mixed_column(static_cast<std::int64_t>(k), p.columns[k] - static_cast<index_t>(p.base));
  return sum;
}

/// With and without the entries of l1.
template <Offset O>
void expect_same_map(const Pattern<O>& p, const BlockPartition& partition, bool l1) {
  SCOPED_TRACE(::testing::Message() << "n = " << p.n << ", blocks of up to " << partition.largest_block()
                                    << (l1 ? ", l1" : ""));
  const Backend backend = Backend::cuda();
  const BlockLayout layout(partition, sizeof(double));
  const detail::L1Pattern of_l1(p.host());
  const PositionMap expected =
      l1 ? detail::build_position_map(of_l1.view(), layout, 1) : detail::build_position_map(p.host(), layout, 1);
  const DevicePattern<O> device(backend, p);
  auto& ops = backend.impl().partition_ops();

  const PatternCheck check = ops.inspect(device.view());
  EXPECT_TRUE(check.is_valid);
  EXPECT_TRUE(check.is_sorted);
  EXPECT_EQ(check.fingerprint, fingerprint(p));

  const Array<BlockSlot> table(backend, std::vector<BlockSlot>(layout.slots().begin(), layout.slots().end()));
  const detail::BlockTable blocks{layout.groups(), table.data(), layout.blocks(), layout.rows()};
  const Array<MapSlot> slots(backend, static_cast<std::size_t>(layout.blocks()) + 1);
  const detail::MapExtent extent = ops.measure_map(device.view(), l1, blocks, slots.data());
  EXPECT_EQ(extent.entries, expected.entries);
  EXPECT_EQ(extent.words, expected.slots.back().begin);
  if (extent.words > 0) {
    ASSERT_EQ(extent.narrow, expected.wide.empty());
  }
  const auto found = slots.to_host();
  for (std::size_t s = 0; s < found.size(); ++s) {
    ASSERT_EQ(found[s].begin, expected.slots[s].begin) << s;
    ASSERT_EQ(found[s].first_source, expected.slots[s].first_source) << s;
    ASSERT_EQ(found[s].row_stride, expected.slots[s].row_stride) << s;
  }
  if (l1) {
    detail::L1Rows rows(backend, p.n, p.host().nnz);
    const detail::L1Rows of_host(Backend::host(), of_l1, layout.slots());
    ops.list_l1_rows(device.view(), blocks, rows.arrays());
    EXPECT_EQ(rows.row_offsets.to_host(), of_host.row_offsets.to_host());
    EXPECT_EQ(rows.columns.to_host(), of_host.columns.to_host());
    EXPECT_EQ(rows.begin.to_host(), of_host.begin.to_host());
    EXPECT_EQ(rows.end.to_host(), of_host.end.to_host());
  }
  if (extent.words == 0) return;
  const Array<std::uint32_t> narrow(backend, expected.narrow.size());
  const Array<std::uint64_t> wide(backend, expected.wide.size());
  ops.fill_map(device.view(), l1, blocks, slots.data(), extent.narrow ? narrow.data() : nullptr, wide.data());
  EXPECT_EQ(narrow.to_host(), expected.narrow);
  EXPECT_EQ(wide.to_host(), expected.wide);
}

template <Offset O>
void expect_same_map(const Pattern<O>& p, const BlockPartition& partition) {
  for (const bool l1 : {false, true}) expect_same_map(p, partition, l1);
}

BlockPartition mixed(index_t rows, std::initializer_list<index_t> orders) {
  std::vector<index_t> offsets{0};
  for (std::size_t k = 0; offsets.back() < rows; ++k)
    offsets.push_back(std::min(rows, offsets.back() + orders.begin()[k % orders.size()]));
  return BlockPartition::from_offsets(offsets);
}

template <Offset O>
void expect_same_maps(index_t n, IndexBase base, int seed) {
  const Pattern<O> p = random_pattern<O>(n, base, seed);
  for (const index_t order : {1, 2, 3, 7, 16, 32, 33, 64, 100, 257, 512})
    expect_same_map(p, BlockPartition::uniform(n, std::min(order, n)));
  expect_same_map(p, mixed(n, {1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 32}));
  expect_same_map(p, mixed(n, {40, 1, 33, 512, 17, 129}));
}

TEST_F(PositionMapTest, EqualThoseOfTheHost) {
  for (const index_t n : is_under_tool() ? std::vector<index_t>{1, 600} : std::vector<index_t>{1, 31, 300, 1500}) {
    expect_same_maps<std::int32_t>(n, IndexBase::zero, n);
    expect_same_maps<std::int64_t>(n, IndexBase::one, n + 1);
  }
}

TEST_F(PositionMapTest, MoreBlocksThanThreadBlocks) {
  const Pattern<std::int32_t> p = random_pattern<std::int32_t>(1500, IndexBase::zero, 2);
  expect_same_map(p, BlockPartition::uniform(p.n, 1), true);
}

TEST_F(PositionMapTest, EqualThoseOfTheHostOnManyThreadBlocks) {
  expect_same_maps<std::int32_t>(400000, IndexBase::zero, 1);
}

/// Full blocks, with some entries before and behind them; of every other block as many in each row.
Pattern<std::int32_t> full_blocks(const BlockPartition& partition) {
  const index_t n = partition.rows();
  Pattern<std::int32_t> p{n, {0}, {}};
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const index_t first = partition.first_row(b), end = partition.first_row(b + 1);
    for (index_t i = first; i < end; ++i) {
      const index_t around = b % 2 == 0 ? 3 : i % 4;
      for (index_t j = std::max(0, first - around); j < std::min(n, end + around); ++j) p.columns.push_back(j);
      p.offsets.push_back(static_cast<std::int32_t>(p.columns.size()));
    }
  }
  return p;
}

TEST_F(PositionMapTest, FullBlocks) {
  for (const index_t order : {8, 32, 33, 96, 512}) {
    const BlockPartition partition = BlockPartition::uniform(5 * order, order);
    expect_same_map(full_blocks(partition), partition);
  }
  const BlockPartition partition = mixed(4000, {300, 7, 64, 33, 512, 2});
  expect_same_map(full_blocks(partition), partition);
}

TEST_F(PositionMapTest, NoEntriesAtAll) {
  expect_same_map(Pattern<std::int32_t>{5, {0, 0, 0, 0, 0, 0}, {}}, BlockPartition::uniform(5, 2));
  expect_same_map(Pattern<std::int32_t>{80, std::vector<std::int32_t>(81, 0), {}}, BlockPartition::uniform(80, 40));
}

TEST_F(PositionMapTest, WidensWhereABlockSpansTooManyValues) {
  constexpr index_t span = index_t{1} << 22;
  for (const index_t far : {span - 2, span - 1}) {
    // row 0 has `far` entries outside of the block of rows 0 and 1 behind its only entry inside
    Pattern<std::int32_t> p{span + 2, {0, far + 1, far + 2}, {0}};
    for (index_t k = 0; k < far; ++k) p.columns.push_back(k + 2);
    p.columns.push_back(1);
    p.offsets.resize(static_cast<std::size_t>(p.n) + 1, far + 2);
    expect_same_map(p, BlockPartition::uniform(p.n, 2));
  }
}

template <Offset O>
PatternCheck inspect(const Pattern<O>& p) {
  const Backend backend = Backend::cuda();
  const DevicePattern<O> device(backend, p);
  return backend.impl().partition_ops().inspect(device.view());
}

TEST_F(PositionMapTest, SeesWhatIsNotValidOrNotSorted) {
  using P = Pattern<std::int32_t>;
  const auto check = [](const P& p, bool is_valid, bool is_sorted) {
    SCOPED_TRACE(::testing::PrintToString(p.offsets) + ::testing::PrintToString(p.columns));
    const PatternCheck found = inspect(p);
    EXPECT_EQ(found.is_valid, is_valid);
    if (is_valid) {
      EXPECT_EQ(found.is_sorted, is_sorted);
    }
  };
  check(P{3, {0, 2, 2, 4}, {0, 1, 1, 2}}, true, true);
  check(P{3, {0, 2, 2, 4}, {1, 0, 1, 2}}, true, false);
  check(P{3, {0, 2, 2, 4}, {0, 1, 2, 2}}, true, false);  // a duplicate
  check(P{3, {0, 2, 2, 4}, {0, 2, 1, 2}}, true, true);   // a descent between two rows
  check(P{3, {1, 3, 3, 5}, {1, 2, 2, 3}, IndexBase::one}, true, true);
  check(P{3, {0, 2, 2, 4}, {0, 1, 1, 3}}, false, true);
  check(P{3, {0, 2, 2, 4}, {-1, 1, 1, 2}}, false, true);
  check(P{3, {1, 3, 3, 5}, {0, 2, 2, 3}, IndexBase::one}, false, true);
  check(P{3, {0, 3, 2, 4}, {0, 1, 1, 2}}, false, true);
  check(P{3, {1, 2, 2, 4}, {0, 1, 1, 2}}, false, true);
  check(P{3, {0, 2, 2, 3}, {0, 1, 1, 2}}, false, true);
  check(P{3, {0, 2, 1 << 30, 4}, {0, 1, 1, 2}}, false, true);
}

TEST_F(PositionMapTest, InspectsColumnsThatBeginAnywhere) {
  const Backend backend = Backend::cuda();
  auto& ops = backend.impl().partition_ops();
  for (const index_t n : {1, 2, 3, 9, 400, 20000}) {
    const Pattern<std::int32_t> p = random_pattern<std::int32_t>(n, IndexBase::one, 2);
    const Array<std::int32_t> offsets(backend, p.offsets);
    for (std::size_t ahead = 0; ahead < 4; ++ahead) {
      SCOPED_TRACE(::testing::Message() << n << " rows, " << ahead << " columns ahead");
      const auto inspected = [&](const std::vector<index_t>& own) {
        std::vector<index_t> columns(ahead, 0);  // which nobody counts
        columns.insert(columns.end(), own.begin(), own.end());
        columns.push_back(0);
        const Array<index_t> all(backend, columns);
        return ops.inspect(p.view(offsets.data(), all.data() + ahead, MemorySpace::device));
      };
      const PatternCheck check = inspected(p.columns);
      EXPECT_TRUE(check.is_valid);
      EXPECT_TRUE(check.is_sorted);
      EXPECT_EQ(check.fingerprint, fingerprint(p));
      for (const std::size_t k : {std::size_t{0}, p.columns.size() / 2, p.columns.size() - 1}) {
        std::vector<index_t> bad = p.columns;
        bad[k] = n + 1;
        EXPECT_FALSE(inspected(bad).is_valid) << k;
        bad[k] = 0;
        EXPECT_FALSE(inspected(bad).is_valid) << k;
      }
    }
  }
}

void expect_check_before_measurement(index_t order, bool l1) {
  SCOPED_TRACE(::testing::Message() << "order " << order << (l1 ? ", l1" : ""));
  const Backend backend = Backend::cuda();
  auto& ops = backend.impl().partition_ops();
  const Pattern<std::int32_t> p = random_pattern<std::int32_t>(1500, IndexBase::zero, 3);
  const BlockPartition partition = BlockPartition::uniform(p.n, order);
  const BlockLayout layout(partition, sizeof(double));
  const Array<BlockSlot> table(backend, std::vector<BlockSlot>(layout.slots().begin(), layout.slots().end()));
  const detail::BlockTable blocks{layout.groups(), table.data(), layout.blocks(), layout.rows()};
  const Array<MapSlot> slots(backend, static_cast<std::size_t>(layout.blocks()) + 1);
  const auto found = [&](const Pattern<std::int32_t>& of) {
    const DevicePattern<std::int32_t> device(backend, of);
    const detail::CheckedExtent both = ops.check_and_measure(device.view(), l1, blocks, slots.data());
    backend.synchronize();
    return both;
  };
  const detail::CheckedExtent good = found(p);
  EXPECT_TRUE(good.check.is_valid && good.check.is_sorted);
  EXPECT_EQ(good.check.fingerprint, fingerprint(p));
  EXPECT_EQ(good.extent.entries, detail::build_position_map(p.host(), layout, 1).entries + (l1 ? p.n : 0));
  Pattern<std::int32_t> faulty = p;
  for (const std::int32_t offset : {1 << 30, -7}) {
    faulty.offsets[700] = offset;
    const detail::CheckedExtent bad = found(faulty);
    EXPECT_FALSE(bad.check.is_valid);
    EXPECT_EQ(bad.extent.entries, 0);
  }
  Pattern<std::int32_t> unsorted = p;
  std::swap(unsorted.columns[unsorted.columns.size() - 1], unsorted.columns[unsorted.columns.size() - 2]);
  const detail::CheckedExtent bad = found(unsorted);
  EXPECT_TRUE(bad.check.is_valid);
  EXPECT_FALSE(bad.check.is_sorted);
  EXPECT_EQ(bad.extent.entries, 0);
}

TEST_F(PositionMapTest, ChecksAndMeasuresAtOnce) {
  for (const auto& [order, l1] : {std::pair{4, false}, {4, true}, {40, false}})
    expect_check_before_measurement(order, l1);
}

/// The inverses of blocks of two rows, from a pattern on the device.
std::vector<double> inverses(const Pattern<std::int32_t>& p) {
  const Backend backend = Backend::cuda();
  const DevicePattern<std::int32_t> device(backend, p);
  std::vector<double> values(p.columns.size());
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(k * k + 1);
  const Array<double> device_values(backend, values);
  const auto v = device.view();
  const CsrView<double, std::int32_t> matrix{v.rows, v.cols, v.nnz, v.row_offsets, v.columns, device_values.data(),
                                             v.base, v.space};
  const BlockJacobi<double> m(backend, matrix, BlockPartition::uniform(p.n, 2));
  std::vector<double> all;
  for (index_t b = 0; b < m.partition().blocks(); ++b)
    for (const double x : m.inverse_block(b)) all.push_back(x);
  return all;
}

TEST_F(PositionMapTest, TheHostHasWhatIsNotSortedOrNotValid) {
  using P = Pattern<std::int32_t>;
  // values 1 0 | 2 5, then 10
  EXPECT_NEAR(inverses(P{3, {0, 1, 3, 4}, {0, 0, 1, 2}}).back(), 0.1, 1e-16);
  // values (0,1) 1 (0,0) 2 | (1,0) 5 (1,1) 10, then (2,2) 17 + 26
  const auto found = inverses(P{3, {0, 2, 4, 6}, {1, 0, 0, 1, 2, 2}});
  EXPECT_NEAR(found[0], 10.0 / 15, 1e-15);
  EXPECT_NEAR(found[1], -5.0 / 15, 1e-15);
  EXPECT_NEAR(found[2], -1.0 / 15, 1e-15);
  EXPECT_NEAR(found[3], 2.0 / 15, 1e-15);
  EXPECT_NEAR(found[4], 1.0 / 43, 1e-16);
  EXPECT_THROW(inverses(P{3, {0, 1, 3, 4}, {0, 0, 3, 2}}), InvalidArgument);
  EXPECT_THROW(inverses(P{3, {0, 3, 1, 4}, {0, 0, 1, 2}}), InvalidArgument);
}

}  // namespace
}  // namespace blockjacobi::test
