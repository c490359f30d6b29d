#include "support/backends.hpp"
#include "support/messages.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

namespace blockjacobi::test {
namespace {

/// Detection reads patterns: one scalar stands for all.
template <class Case>
class DetectOnBackend : public BackendTest<Case> {};
using PatternCases = ::testing::Types<BackendCase<double>>;
TYPED_TEST_SUITE(DetectOnBackend, PatternCases, BackendCaseName);

/// The columns of each row, in any order and number.
using Rows = std::vector<std::vector<index_t>>;

std::size_t below(Random& random, std::size_t bound) {
  return static_cast<std::size_t>(random.index(static_cast<index_t>(bound)));
}

/// The rule of BlockPartition::detect in its plainest form.
std::vector<index_t> expected_offsets(const Rows& rows, const DetectOptions& o) {
  std::vector<index_t> cuts{0};
  std::set<index_t> previous;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::set<index_t> own(rows[i].begin(), rows[i].end());
    std::size_t common = 0;
    for (const index_t column : own) common += previous.count(column);
    const auto together = static_cast<double>(own.size() + previous.size() - common);
    const bool matches = together - static_cast<double>(common) <= o.tolerance * together;
    const auto row = static_cast<index_t>(i);
    if (i > 0 && !(matches && row - cuts.back() < o.max_size)) cuts.push_back(row);
    previous = own;
  }
  if (rows.empty()) return cuts;
  cuts.push_back(static_cast<index_t>(rows.size()));
  if (o.merge == Merge::none) return cuts;
  std::vector<index_t> merged{0};
  for (std::size_t b = 1; b + 1 < cuts.size(); ++b)
    if (cuts[b + 1] - merged.back() > o.max_size) merged.push_back(cuts[b]);
  merged.push_back(cuts.back());
  return merged;
}

template <Offset O>
void expect_detected(const Backend& backend, const Rows& rows, const DetectOptions& o, IndexBase base) {
  std::vector<O> offsets{static_cast<O>(base)};
  std::vector<index_t> columns;
  for (const auto& row : rows) {
    for (const index_t column : row) columns.push_back(column + static_cast<index_t>(base));
    offsets.push_back(static_cast<O>(columns.size()) + static_cast<O>(base));
  }
  const Array<O> own_offsets(backend, offsets);
  const Array<index_t> own_columns(backend, columns);
  const auto n = static_cast<index_t>(rows.size());
  const CsrView<double, O> view{n,
                                n,
                                static_cast<offset_t>(columns.size()),
                                own_offsets.data(),
                                own_columns.data(),
                                nullptr,
                                base,
                                backend.memory_space()};
  const BlockPartition found = BlockPartition::detect(backend, view, o);
  const std::vector<index_t> expected = expected_offsets(rows, o);
  const auto difference = std::ranges::mismatch(found.offsets(), expected);
  EXPECT_TRUE(std::ranges::equal(found.offsets(), expected))
      << n << " rows, max_size " << o.max_size << ", tolerance " << o.tolerance << ", merge "
      << static_cast<int>(o.merge) << ": " << found.blocks() << " blocks instead of " << expected.size() - 1
      << ", different from block " << difference.in1 - found.offsets().begin();
}

void expect_detected(const Backend& backend, const Rows& rows, std::initializer_list<index_t> sizes,
                     double tolerance = 0.0) {
  for (const index_t max_size : sizes)
    for (const Merge merge : {Merge::none, Merge::greedy}) {
      DetectOptions options;
      options.max_size = max_size;
      options.tolerance = tolerance;
      options.merge = merge;
      expect_detected<std::int32_t>(backend, rows, options, IndexBase::one);
      expect_detected<std::int64_t>(backend, rows, options, IndexBase::zero);
    }
}

/// Runs of 1 .. longest rows that share up to `width` columns.
Rows random_runs(index_t n, std::size_t longest, std::size_t width, std::uint64_t seed) {
  Random random(seed);
  Rows rows;
  while (rows.size() < static_cast<std::size_t>(n)) {
    std::set<index_t> columns;
    for (std::size_t k = below(random, width + 1); k > 0; --k)
      columns.insert(static_cast<index_t>(below(random, static_cast<std::size_t>(n))));
    for (std::size_t k = below(random, longest) + 1; k > 0 && rows.size() < static_cast<std::size_t>(n); --k)
      rows.emplace_back(columns.begin(), columns.end());
  }
  return rows;
}

TYPED_TEST(DetectOnBackend, RandomRuns) {
  const Backend backend = this->make_backend();
  for (const index_t n : {1, 2, 31, 32, 33, 500}) {
    expect_detected(backend, random_runs(n, 6, 9, 3), {1, 2, 5, 8, 32, 512});
    expect_detected(backend, random_runs(n, 50, 2, 4), {1, 3, 32, 33, 100});
    expect_detected(backend, random_runs(n, 3, 100, 5), {4, 32});
  }
}

TYPED_TEST(DetectOnBackend, NoRowsAndEmptyRows) {
  const Backend backend = this->make_backend();
  expect_detected(backend, {}, {1, 32});
  expect_detected(backend, Rows(1), {1, 32});
  expect_detected(backend, Rows(4097), {1, 7, 32, 512});  // one run, longer than what a thread block looks at
}

TYPED_TEST(DetectOnBackend, UnsortedRowsAndDuplicates) {
  const Backend backend = this->make_backend();
  Random random(8);
  Rows rows = random_runs(600, 7, 40, 6);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& row = rows[i];
    if (i % 3 == 0 && !row.empty()) row.push_back(row[below(random, row.size())]);  // a duplicate, out of order
    if (i % 3 == 1) std::ranges::reverse(row);
    if (i % 5 == 2 && !row.empty()) row.insert(row.begin(), row.front());  // a duplicate beside the original
  }
  expect_detected(backend, rows, {1, 4, 32, 512});
  expect_detected(backend, rows, {4, 32}, 0.2);
}

TYPED_TEST(DetectOnBackend, Tolerance) {
  const Backend backend = this->make_backend();
  Random random(9);
  Rows rows = random_runs(700, 9, 30, 7);
  for (auto& row : rows)
    if (row.size() > 3 && below(random, 2) == 0)
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(below(random, row.size())));
  for (const double tolerance : {0.03, 0.1, 0.5, 0.99}) expect_detected(backend, rows, {3, 32}, tolerance);
}

TYPED_TEST(DetectOnBackend, ManyRows) {
  const Backend backend = this->make_backend();
  // Beside and beyond 2^16, and beyond 32 x 4096 rows.
  expect_detected(backend, random_runs(4096, 5, 6, 11), {8, 32, 512});
  expect_detected(backend, random_runs(65537, 12, 8, 12), {1, 8, 32, 512});
  expect_detected(backend, random_runs(140001, 3, 4, 13), {13, 32});
  expect_detected(backend, Rows(140001), {32, 500});
  Rows diagonal(70000);
  for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = {static_cast<index_t>(i)};
  expect_detected(backend, diagonal, {1, 31, 512});
}

TYPED_TEST(DetectOnBackend, BordersOfTiles) {
  const Backend backend = this->make_backend();
  for (const index_t n : {63, 64, 65, 127, 128, 129, 4095, 4096, 4097, 8191, 8192, 8193}) {
    expect_detected(backend, Rows(static_cast<std::size_t>(n)), {1, 31, 32, 511});
    expect_detected(backend, random_runs(n, 4, 3, 17), {1, 2, 5, 31, 32, 33, 512});
  }
}

TYPED_TEST(DetectOnBackend, GroupsOfGroupsOfTiles) {
  const Backend backend = this->make_backend();
  expect_detected(backend, Rows(1'200'000), {500});
  expect_detected(backend, random_runs(1'200'000, 300, 2, 18), {512});
}

/// A fault in the arrays of a tridiagonal matrix, and what the error says of it.
template <Offset O>
struct Fault {
  std::string says;
  std::function<void(std::vector<O>& offsets, std::vector<index_t>& columns)> make;
};

template <Offset O>
void expect_faults_named(const Backend& backend, IndexBase base) {
  constexpr index_t n = 5000;
  const auto b = static_cast<index_t>(base);
  std::vector<O> offsets{static_cast<O>(b)};
  std::vector<index_t> columns;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = std::max(i - 1, 0); j <= std::min(i + 1, n - 1); ++j) columns.push_back(j + b);
    offsets.push_back(static_cast<O>(columns.size()) + static_cast<O>(b));
  }
  const auto nnz = static_cast<offset_t>(columns.size());
  const auto first_of = [&](index_t row) {
    return static_cast<std::size_t>(offsets[static_cast<std::size_t>(row)] - b);
  };
  const std::vector<Fault<O>> faults{
      {"row_offsets[0] is " + std::to_string(b + 1), [](auto& o, auto&) { ++o[0]; }},
      {"row 4711 starts at offset", [](auto& o, auto&) { o[4712] = O(3); }},
      {"row 0 starts at offset", [](auto& o, auto&) { o[1] = O(-7); }},
      {"row_offsets[5000] is", [](auto& o, auto&) { o.back() = std::numeric_limits<O>::max(); }},
      {"row_offsets[5000] is", [](auto& o, auto&) { --o.back(); }},
      {"row 4999 holds column 1000000", [](auto&, auto& c) { c.back() = 1000000; }},
      {"row 4711 holds column " + std::to_string(b + n), [&](auto&, auto& c) { c[first_of(4711)] = b + n; }},
      {"row 17 holds column -2147483648", [&](auto&, auto& c) { c[first_of(17)] = -2147483647 - 1; }},
      {"row 0 holds column " + std::to_string(b - 1), [&](auto&, auto& c) { c[0] = b - 1; }}};
  const auto detect = [&](const std::vector<O>& own_offsets, const std::vector<index_t>& own_columns,
                          const DetectOptions& options) {
    const Array<O> o(backend, own_offsets);
    const Array<index_t> c(backend, own_columns);
    const Array<double> v(backend, std::vector<double>(own_columns.size(), 1.0));
    return BlockPartition::detect(
        backend, CsrView<double, O>{n, n, nnz, o.data(), c.data(), v.data(), base, backend.memory_space()}, options);
  };
  for (const Merge merge : {Merge::none, Merge::greedy, Merge::coupled}) {
    const DetectOptions options{.max_size = 8, .merge = merge};
    for (const Fault<O>& fault : faults) {
      SCOPED_TRACE(fault.says + ", merge " + std::to_string(static_cast<int>(merge)));
      std::vector<O> bad_offsets = offsets;
      std::vector<index_t> bad_columns = columns;
      fault.make(bad_offsets, bad_columns);
      const std::string message = message_of([&] { static_cast<void>(detect(bad_offsets, bad_columns, options)); });
      EXPECT_NE(message.find("BlockPartition::detect: "), std::string::npos) << message;
      EXPECT_NE(message.find(fault.says), std::string::npos) << message;
      backend.synchronize();  // and no error is left behind
      EXPECT_EQ(detect(offsets, columns, options).rows(), n);
    }
  }
}

TYPED_TEST(DetectOnBackend, FaultsOfTheArraysAreNamed) {
  const Backend backend = this->make_backend();
  expect_faults_named<std::int32_t>(backend, IndexBase::one);
  expect_faults_named<std::int64_t>(backend, IndexBase::zero);
}

TYPED_TEST(DetectOnBackend, LongRows) {
  const Backend backend = this->make_backend();
  Rows rows(300);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (index_t column = 0; column < 300; ++column)
      if (i / 20 % 2 == 0 || column != static_cast<index_t>(299 - i / 20)) rows[i].push_back(column);
  expect_detected(backend, rows, {8, 32});
  expect_detected(backend, rows, {8, 300}, 0.004);
}

}  // namespace
}  // namespace blockjacobi::test
