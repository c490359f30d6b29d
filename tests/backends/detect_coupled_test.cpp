#include "support/backends.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace blockjacobi::test {
namespace {

template <class Case>
class DetectCoupledOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(DetectCoupledOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
struct Entry {
  index_t column;
  T value;
};

/// The entries of each row, in any order, some of them perhaps several times.
template <Scalar T>
using Rows = std::vector<std::vector<Entry<T>>>;

/// The arrays of a view, in the memory of a backend.
template <Scalar T, Offset O>
class Matrix {
 public:
  Matrix(const Backend& backend, const Rows<T>& rows, IndexBase base)
      : rows_(static_cast<index_t>(rows.size())),
        base_(base),
        offsets_(backend, offsets_of(rows, base)),
        columns_(backend, collected<index_t>(rows, [base](auto& e) { return e.column + static_cast<index_t>(base); })),
        values_(backend, collected<T>(rows, [](auto& e) { return e.value; })) {}

  CsrView<T, O> view() const {
    return {rows_,          rows_, static_cast<offset_t>(values_.size()), offsets_.data(), columns_.data(),
            values_.data(), base_, values_.backend().memory_space()};
  }

 private:
  static std::vector<O> offsets_of(const Rows<T>& rows, IndexBase base) {
    std::vector<O> offsets{static_cast<O>(base)};
    for (const auto& row : rows) offsets.push_back(offsets.back() + static_cast<O>(row.size()));
    return offsets;
  }
  template <class V, class Of>
  static std::vector<V> collected(const Rows<T>& rows, Of of) {
    std::vector<V> all;
    for (const auto& row : rows)
      for (const auto& entry : row) all.push_back(of(entry));
    return all;
  }

  index_t rows_;
  IndexBase base_;
  Array<O> offsets_;
  Array<index_t> columns_;
  Array<T> values_;
};

/// The rule of Merge::coupled in its plainest form.
template <Scalar T>
std::vector<index_t> expected_offsets(const Rows<T>& rows, std::span<const index_t> starts, const DetectOptions& o) {
  const auto number = [&](index_t row) { return std::ranges::upper_bound(starts, row) - starts.begin() - 1; };
  std::map<std::pair<index_t, index_t>, T> sums;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const auto& entry : rows[i]) sums[{static_cast<index_t>(i), entry.column}] += entry.value;
  std::map<std::pair<std::ptrdiff_t, std::ptrdiff_t>, double> largest;
  for (const auto& [place, sum] : sums) {
    double& found = largest[{number(place.first), number(place.second)}];
    found = std::max(found, static_cast<double>(std::abs(sum)));  // skips NaN
  }
  const auto between = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const auto found = largest.find({i, j});
    return found == largest.end() ? 0.0 : found->second;
  };
  std::vector<index_t> merged{0};
  std::ptrdiff_t first = 0;
  for (std::ptrdiff_t j = 1; j + 1 < std::ssize(starts); ++j) {
    bool joins = false;
    for (std::ptrdiff_t i = first; i < j; ++i) {
      const double value = std::max(between(i, j), between(j, i));
      joins |= value > 0.0 && value >= o.coupling * std::sqrt(between(i, i)) * std::sqrt(between(j, j));
    }
    if (joins && starts[static_cast<std::size_t>(j + 1)] - merged.back() <= o.max_size) continue;
    merged.push_back(starts[static_cast<std::size_t>(j)]);
    first = j;
  }
  if (starts.size() > 1) merged.push_back(starts.back());
  return merged;
}

enum class Oracle { plain_rule, host };

template <Scalar T, Offset O>
void expect_detected(const Backend& backend, const Rows<T>& rows, IndexBase base, DetectOptions o, Oracle oracle) {
  const Matrix<T, O> host(Backend::host(), rows, base), own(backend, rows, base);
  std::vector<index_t> expected;
  if (oracle == Oracle::plain_rule) {
    o.merge = Merge::none;
    expected = expected_offsets(rows, BlockPartition::detect(host.view(), o).offsets(), o);
  }
  o.merge = Merge::coupled;
  const BlockPartition of_host = BlockPartition::detect(host.view(), o);
  if (oracle == Oracle::host) expected.assign(of_host.offsets().begin(), of_host.offsets().end());
  const BlockPartition found = BlockPartition::detect(backend, own.view(), o);
  const auto difference = std::ranges::mismatch(found.offsets(), expected);
  EXPECT_TRUE(std::ranges::equal(found.offsets(), expected))
      << rows.size() << " rows, max_size " << o.max_size << ", tolerance " << o.tolerance << ", coupling " << o.coupling
      << ": " << found.blocks() << " blocks instead of " << expected.size() - 1 << ", different from block "
      << difference.in1 - found.offsets().begin();
  EXPECT_EQ(found, of_host);
}

template <Scalar T>
void expect_detected(const Backend& backend, const Rows<T>& rows, std::initializer_list<index_t> sizes,
                     std::initializer_list<double> couplings, Oracle oracle = Oracle::plain_rule,
                     double tolerance = 0.0) {
  for (const index_t max_size : sizes)
    for (const double coupling : couplings) {
      const DetectOptions options{.max_size = max_size, .tolerance = tolerance, .coupling = coupling};
      expect_detected<T, std::int32_t>(backend, rows, IndexBase::one, options, oracle);
      expect_detected<T, std::int64_t>(backend, rows, IndexBase::zero, options, oracle);
    }
}

/// Of any magnitude between 2^-10 and 1.
template <Scalar T>
T random_value(Random& random) {
  return random.scalar<T>() * static_cast<real_t<T>>(std::ldexp(1.0, -random.index(10)));
}

/// Runs of up to `longest` rows with the same columns, which are sorted: some near the diagonal and one anywhere.
template <Scalar T>
Rows<T> random_runs(index_t n, index_t longest, index_t width, std::uint64_t seed) {
  Random random(seed);
  Rows<T> rows;
  while (std::ssize(rows) < n) {
    const auto begin = static_cast<index_t>(rows.size());
    std::vector<index_t> columns{random.index(n)};
    for (index_t k = random.index(width + 1); k > 0; --k)
      columns.push_back(std::clamp(begin + random.index(80) - 40, 0, n - 1));
    std::ranges::sort(columns);
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    for (index_t k = 1 + random.index(longest); k > 0 && std::ssize(rows) < n; --k) {
      rows.emplace_back();
      for (const index_t column : columns) rows.back().push_back({column, random_value<T>(random)});
    }
  }
  return rows;
}

/// The neighbours of a row are coupled to it by random values.
template <Scalar T>
Rows<T> tridiagonal(index_t n, std::uint64_t seed) {
  Random random(seed);
  Rows<T> rows(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i)
    for (index_t j = std::max(i - 1, 0); j < std::min(i + 2, n); ++j)
      rows[static_cast<std::size_t>(i)].push_back({j, i == j ? T(1) : random_value<T>(random)});
  return rows;
}

TYPED_TEST(DetectCoupledOnBackend, RandomRuns) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {1, 2, 31, 32, 33, 400}) {
    expect_detected(backend, random_runs<T>(n, 1, 6, 1), {1, 5, 32}, {0.0, 0.1, 0.5});
    expect_detected(backend, random_runs<T>(n, 5, 12, 2), {2, 32, 512}, {0.01, 0.3});
    expect_detected(backend, random_runs<T>(n, 60, 30, 3), {33, 100}, {0.3, 1.0});
  }
}

TYPED_TEST(DetectCoupledOnBackend, Tridiagonal) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {3, 32, 97, 300}) expect_detected(backend, tridiagonal<T>(n, 4), {1, 7, 32}, {0.0, 0.1, 1.0});
}

TYPED_TEST(DetectCoupledOnBackend, ADiagonalMatrixStaysScalar) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Rows<T> rows(70);
  for (index_t i = 0; i < 70; ++i)
    for (index_t j = std::max(i - 1, 0); j < std::min(i + 2, 70); ++j)
      rows[static_cast<std::size_t>(i)].push_back({j, i == j ? T(3) : T(0)});  // the zeros couple nothing
  const Matrix<T, std::int64_t> a(backend, rows, IndexBase::zero);
  for (const double coupling : {0.0, 0.01}) {
    const DetectOptions options{.merge = Merge::coupled, .coupling = coupling};
    EXPECT_EQ(BlockPartition::detect(backend, a.view(), options).blocks(), 70);
  }
}

TYPED_TEST(DetectCoupledOnBackend, NoRowsAndEmptyRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  expect_detected(backend, Rows<T>(), {32}, {0.01});
  expect_detected(backend, Rows<T>(1), {32}, {0.0});
  expect_detected(backend, Rows<T>(4097), {7, 512}, {0.01});
  Rows<T> rows = random_runs<T>(300, 4, 8, 5);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i / 3 % 4 == 1) rows[i].clear();
  expect_detected(backend, rows, {4, 32}, {0.0, 0.2});
}

TYPED_TEST(DetectCoupledOnBackend, NanAndInfinity) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  const R nan = std::numeric_limits<R>::quiet_NaN(), infinity = std::numeric_limits<R>::infinity();
  const R largest = std::numeric_limits<R>::max(), least = std::numeric_limits<R>::denorm_min();
  Rows<T> rows = random_runs<T>(300, 3, 12, 6);
  Random random(7);
  for (auto& row : rows)
    for (auto& [column, value] : row) {
      const index_t kind = random.index(20);
      if (kind == 0) value = T(nan);
      if (kind == 1) value = T(-infinity);
      if (kind == 2) value = T(largest);
      if (kind == 3) value = T(least);
    }
  expect_detected(backend, rows, {4, 32}, {0.0, 0.2});
}

TYPED_TEST(DetectCoupledOnBackend, UnsortedRowsAndDuplicates) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(8);
  Rows<T> rows = random_runs<T>(300, 4, 12, 9);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i % 3 == 1) std::ranges::reverse(rows[i]);
  expect_detected(backend, rows, {4, 32}, {0.2});
  for (auto& row : rows)
    if (random.index(3) == 0) row.push_back({row[0].column, -row[0].value});
  expect_detected(backend, rows, {4, 32}, {0.0, 0.2});
  expect_detected(backend, rows, {32}, {0.2}, Oracle::plain_rule, 0.3);
}

TYPED_TEST(DetectCoupledOnBackend, Tolerance) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Rows<T> rows = random_runs<T>(300, 6, 20, 10);
  for (std::size_t i = 0; i < rows.size(); i += 2)
    if (rows[i].size() > 4) rows[i].erase(rows[i].begin() + 1);
  expect_detected(backend, rows, {5, 32}, {0.01, 0.4}, Oracle::plain_rule, 0.2);
}

/// Couplings as large as the threshold but for the roundings, of which complex magnitudes have the most.
TYPED_TEST(DetectCoupledOnBackend, TiesAreDecidedAsOnTheHost) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(11);
  Rows<T> rows = tridiagonal<T>(400, 12);
  for (auto& row : rows)
    for (auto& [column, value] : row) {
      if constexpr (is_complex<T>)
        value = std::polar(real_t<T>(1.7), static_cast<real_t<T>>(3.0 * random.real()));
      else
        value = random.index(2) == 0 ? T(1.7) : std::nextafter(T(1.7), T(random.index(3)));
    }
  expect_detected(backend, rows, {32}, {1.0}, Oracle::host);
  // The same in the ranges where squares overflow and underflow.
  const int most = std::numeric_limits<real_t<T>>::max_exponent - 2;
  for (const int exponent : {most, 2 - most}) {
    Rows<T> scaled = rows;
    for (auto& row : scaled)
      for (auto& [column, value] : row) value *= std::ldexp(real_t<T>(1), exponent);
    expect_detected(backend, scaled, {32}, {1.0}, Oracle::host);
  }
}

TYPED_TEST(DetectCoupledOnBackend, LongRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(13);
  Rows<T> rows(600);
  for (index_t i = 0; i < 600; ++i)
    for (index_t j = 0; j < 600; ++j)
      if (i % 50 == 0 || std::abs(i - j) < 2 || j == 599)
        rows[static_cast<std::size_t>(i)].push_back({j, random_value<T>(random)});
  expect_detected(backend, rows, {8, 512}, {0.3});
}

TYPED_TEST(DetectCoupledOnBackend, ManyRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  // Beside and beyond 2^16, and beyond 32 x 4096 rows.
  expect_detected(backend, random_runs<T>(4096, 5, 6, 14), {8, 512}, {0.1}, Oracle::host);
  expect_detected(backend, random_runs<T>(65537, 6, 10, 15), {1, 32, 512}, {0.2}, Oracle::host);
  expect_detected(backend, tridiagonal<T>(140001, 16), {13, 32}, {0.0, 0.2}, Oracle::host);
}

}  // namespace
}  // namespace blockjacobi::test
