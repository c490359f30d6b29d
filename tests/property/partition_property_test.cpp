// What holds for the partitions of every matrix.
#include "property.hpp"
#include "random_system.hpp"

#include <algorithm>
#include <set>

namespace blockjacobi::test {
namespace {

template <class Case>
class PartitionPropertyOnBackend : public PropertyOnBackend<Case> {};
TYPED_TEST_SUITE(PartitionPropertyOnBackend, BackendCases, BackendCaseName);

void expect_valid(const BlockPartition& partition, index_t rows, index_t largest) {
  ASSERT_EQ(partition.rows(), rows);
  for (index_t b = 0; b < partition.blocks(); ++b) {
    EXPECT_GE(partition.block_size(b), 1) << "block " << b;
    EXPECT_LE(partition.block_size(b), largest) << "block " << b;
  }
}

/// A matrix whose rows often have the columns of the row before, with the values of a random system.
template <Scalar T>
CsrMatrix<T> repeated_rows(Random& random) {
  const index_t rows = 1 + random.index(120);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::set<index_t> row_columns;
  for (index_t i = 0; i < rows; ++i) {
    if (random.index(3) == 0) {
      row_columns.clear();
      for (index_t k = random.index(6); k > 0; --k) row_columns.insert(random.index(rows));
      if (random.index(4) != 0) row_columns.insert(i);
    } else if (random.index(6) == 0) {
      row_columns.insert(random.index(rows));
    }
    columns.insert(columns.end(), row_columns.begin(), row_columns.end());
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  std::vector<T> values(columns.size());
  for (T& value : values)
    value = random.index(9) == 0 ? T(0) : random.scalar<T>() * std::ldexp(real_t<T>(1), random.index(9) - 4);
  return CsrMatrix<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values));
}

template <Scalar T>
std::span<const index_t> columns_of(const CsrMatrix<T>& a, index_t row) {
  const auto begin = a.row_offsets()[static_cast<std::size_t>(row)],
             end = a.row_offsets()[static_cast<std::size_t>(row) + 1];
  return a.columns().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
}

/// Exact supervariables by the definition.
template <Scalar T>
std::vector<index_t> supervariables(const CsrMatrix<T>& a, index_t max_size) {
  std::vector<index_t> offsets{0};
  for (index_t row = 1; row < a.rows(); ++row) {
    const bool joins =
        row - offsets.back() < max_size && std::ranges::equal(columns_of(a, row), columns_of(a, row - 1));
    if (!joins) offsets.push_back(row);
  }
  offsets.push_back(a.rows());
  return offsets;
}

std::vector<index_t> merged_greedily(const std::vector<index_t>& parts, index_t max_size) {
  std::vector<index_t> offsets{0};
  for (std::size_t k = 1; k + 1 < parts.size(); ++k)
    if (parts[k + 1] - offsets.back() > max_size) offsets.push_back(parts[k]);
  offsets.push_back(parts.back());
  return offsets;
}

/// On the backend, whichever it is.
template <Scalar T>
BlockPartition detect(const Backend& backend, const CsrMatrix<T>& a, const DetectOptions& options) {
  if (backend.kind() == BackendKind::host) return BlockPartition::detect(a, options);
  const Array<offset_t> offsets(backend, {a.row_offsets().begin(), a.row_offsets().end()});
  const Array<index_t> columns(backend, {a.columns().begin(), a.columns().end()});
  const Array<T> values(backend, {a.values().begin(), a.values().end()});
  return BlockPartition::detect(backend,
                                CsrView<T>{a.rows(), a.cols(), a.nnz(), offsets.data(), columns.data(), values.data(),
                                           IndexBase::zero, MemorySpace::device},
                                options);
}

TYPED_TEST(PartitionPropertyOnBackend, DetectIsWhatTheDefinitionSays) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    Random random(seed);
    const CsrMatrix<T> a = repeated_rows<T>(random);
    const index_t max_size = 1 + random.index(random.index(2) == 0 ? 8 : 40);
    const auto parts = supervariables(a, max_size);
    EXPECT_EQ(detect(backend, a, {.max_size = max_size, .merge = Merge::none}), BlockPartition::from_offsets(parts));
    EXPECT_EQ(detect(backend, a, {.max_size = max_size}),
              BlockPartition::from_offsets(merged_greedily(parts, max_size)));
  });
}

TYPED_TEST(PartitionPropertyOnBackend, EveryMergeIsValidAndTheSameTwice) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    Random random(seed);
    const CsrMatrix<T> a = repeated_rows<T>(random);
    DetectOptions options;
    options.max_size = 1 + random.index(40);
    options.tolerance = random.index(2) == 0 ? 0.0 : random.index(9) / 10.0;
    options.merge = static_cast<Merge>(random.index(3));
    options.coupling = random.index(2) == 0 ? 0.01 : std::pow(10.0, -random.index(6));
    const auto found = detect(backend, a, options);
    expect_valid(found, a.rows(), options.max_size);
    EXPECT_EQ(found, detect(backend, a, options));
    EXPECT_EQ(found, BlockPartition::detect(a, options));
  });
}

/// A -> D A D with one factor a supervariable changes no decision.
TYPED_TEST(PartitionPropertyOnBackend, CouplingDoesNotDependOnUnits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  this->for_seeds([&](std::uint64_t seed) {
    Random random(seed);
    CsrMatrix<T> a = repeated_rows<T>(random);
    const DetectOptions options{.max_size = 1 + random.index(40), .merge = Merge::coupled, .coupling = 0.1};
    const auto before = detect(backend, a, options);
    const auto parts = supervariables(a, options.max_size);
    std::vector<int> exponent;
    for (std::size_t k = 0; k + 1 < parts.size(); ++k)
      exponent.insert(exponent.end(), static_cast<std::size_t>(parts[k + 1] - parts[k]), random.index(21) - 10);
    for (index_t i = 0; i < a.rows(); ++i)
      for (auto k = static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i)]);
           k < static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i) + 1]); ++k)
        a.values()[k] *= std::ldexp(
            real_t<T>(1), exponent[static_cast<std::size_t>(i)] + exponent[static_cast<std::size_t>(a.columns()[k])]);
    EXPECT_EQ(detect(backend, a, options), before);
  });
}

/// The host finds them, whichever backend takes them.
TYPED_TEST(PartitionPropertyOnBackend, MetisIsValidAndTheSameTwice) {
  using T = typename TypeParam::Scalar;
  if (!BlockPartition::metis_available()) GTEST_SKIP() << "built without METIS";
  this->for_seeds([&](std::uint64_t seed) {
    Random random(seed);
    const CsrMatrix<T> a = repeated_rows<T>(random);
    const index_t max_size = 1 + random.index(40);
    const auto found = BlockPartition::metis(a, max_size);
    expect_valid(found.blocks, a.rows(), max_size);
    std::vector<index_t> order(found.permutation.order().begin(), found.permutation.order().end());
    std::ranges::sort(order);
    for (index_t k = 0; k < a.rows(); ++k) EXPECT_EQ(order[static_cast<std::size_t>(k)], k);
    const auto again = BlockPartition::metis(a, max_size);
    EXPECT_EQ(found.permutation, again.permutation);
    EXPECT_EQ(found.blocks, again.blocks);
  });
}

}  // namespace
}  // namespace blockjacobi::test
