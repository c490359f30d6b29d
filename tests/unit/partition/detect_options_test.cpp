#include "support/messages.hpp"
#include "support/random.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace blockjacobi::test {
namespace {

using Offsets = std::vector<index_t>;

Offsets offsets_of(const BlockPartition& p) { return {p.offsets().begin(), p.offsets().end()}; }

CsrMatrix<double> tridiagonal(index_t n, double off, double diagonal) {
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, diagonal});
    if (i > 0) entries.push_back({i, i - 1, off});
    if (i + 1 < n) entries.push_back({i, i + 1, off});
  }
  return CsrMatrix<double>::from_triplets(n, n, entries);
}

/// The rule of Merge::coupled in its plainest form, over dense magnitudes and given supervariables.
Offsets naive_coupled(const std::vector<std::vector<double>>& a, const Offsets& sv, index_t max_size, double theta) {
  const auto largest = [&](std::size_t i, std::size_t j) {
    double m = 0.0;
    for (auto r = sv[i]; r < sv[i + 1]; ++r)
      for (auto c = sv[j]; c < sv[j + 1]; ++c)
        m = std::max(m, a[static_cast<std::size_t>(r)][static_cast<std::size_t>(c)]);
    return m;
  };
  Offsets blocks{0};
  std::size_t first = 0;
  for (std::size_t j = 1; j + 1 < sv.size(); ++j) {
    bool joins = false;
    for (std::size_t i = first; i < j; ++i) {
      const double coupling = std::max(largest(i, j), largest(j, i));
      joins |= coupling > 0.0 && coupling >= theta * std::sqrt(largest(i, i)) * std::sqrt(largest(j, j));
    }
    if (joins && sv[j + 1] - blocks.back() <= max_size) continue;
    blocks.push_back(sv[j]);
    first = j;
  }
  if (sv.size() > 1) blocks.push_back(sv.back());
  return blocks;
}

TEST(DetectCoupled, ADiagonalMatrixStaysScalar) {
  const auto a = tridiagonal(70, 0.0, 3.0);  // the zeros are stored: they couple nothing
  const auto p = BlockPartition::detect(a, DetectOptions{.merge = Merge::coupled});
  EXPECT_EQ(p.blocks(), 70);
}

TEST(DetectCoupled, ATridiagonalMatrixIsCutAtTheMaximum) {
  const DetectOptions options{.max_size = 8, .merge = Merge::coupled};
  EXPECT_EQ(offsets_of(BlockPartition::detect(tridiagonal(20, -1.0, 2.0), options)), (Offsets{0, 8, 16, 20}));
  EXPECT_EQ(BlockPartition::detect(tridiagonal(20, -0.001, 2.0), options).blocks(), 20);
}

TEST(DetectCoupled, BlocksEndWhereTheCouplingEnds) {
  // 3 + 2 + 4 rows, dense within, 1e-6 to the next row
  std::vector<Triplet<double>> entries;
  for (const auto& [begin, end] : {std::pair{0, 3}, {3, 5}, {5, 9}}) {
    for (index_t i = begin; i < end; ++i)
      for (index_t j = begin; j < end; ++j) entries.push_back({i, j, i == j ? 4.0 : 1.0});
    if (end < 9) entries.push_back({end - 1, end, 1e-6});
  }
  const auto a = CsrMatrix<double>::from_triplets(9, 9, entries);
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, DetectOptions{.merge = Merge::coupled})), (Offsets{0, 3, 5, 9}));
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, 32)), (Offsets{0, 9}));
}

TEST(DetectCoupled, ScalingOfRowsAndColumnsChangesNothing) {
  const auto a = tridiagonal(30, -1.0, 4.0);
  std::vector<Triplet<double>> scaled;
  for (index_t i = 0; i < 30; ++i)
    for (offset_t k = a.view().row_offsets[i]; k < a.view().row_offsets[i + 1]; ++k) {
      const index_t j = a.view().columns[k];
      scaled.push_back({i, j, std::ldexp(a.view().values[k], 13 * (i % 5) + 13 * (j % 5))});
    }
  const auto b = CsrMatrix<double>::from_triplets(30, 30, scaled);
  for (const double theta : {0.2, 0.25, 0.3}) {
    const DetectOptions options{.merge = Merge::coupled, .coupling = theta};
    EXPECT_EQ(BlockPartition::detect(a, options), BlockPartition::detect(b, options)) << theta;
    EXPECT_EQ(BlockPartition::detect(a, options).blocks(), theta > 0.25 ? 30 : 1) << theta;
  }
}

TEST(DetectCoupled, AZeroDiagonalJoinsWhatItIsCoupledTo) {
  const auto a = CsrMatrix<double>::from_triplets(
      3, 3, std::vector<Triplet<double>>{{0, 0, 1e6}, {1, 1, 1e6}, {1, 2, 1e-3}, {2, 1, 1e-3}});
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, DetectOptions{.merge = Merge::coupled})), (Offsets{0, 1, 3}));
}

TEST(DetectCoupled, EqualsTheNaiveRuleOnRandomMatrices) {
  Random random(3);
  for (int repeat = 0; repeat < 150; ++repeat) {
    const index_t n = 1 + random.index(30);
    std::vector<Triplet<double>> entries;
    for (index_t k = 0; k < 3 * n; ++k) entries.push_back({random.index(n), random.index(n), random.real()});
    const auto a = CsrMatrix<double>::from_triplets(n, n, entries);
    std::vector<std::vector<double>> dense(static_cast<std::size_t>(n),
                                           std::vector<double>(static_cast<std::size_t>(n)));
    for (index_t i = 0; i < n; ++i)
      for (offset_t k = a.view().row_offsets[i]; k < a.view().row_offsets[i + 1]; ++k)
        dense[static_cast<std::size_t>(i)][static_cast<std::size_t>(a.view().columns[k])] =
            std::abs(a.view().values[k]);
    for (const index_t max_size : {1, 3, 32})
      for (const double theta : {0.0, 0.3, 1.0}) {
        const auto sv =
            offsets_of(BlockPartition::detect(a, DetectOptions{.max_size = max_size, .merge = Merge::none}));
        const DetectOptions options{.max_size = max_size, .merge = Merge::coupled, .coupling = theta};
        EXPECT_EQ(offsets_of(BlockPartition::detect(a, options)), naive_coupled(dense, sv, max_size, theta));
        EXPECT_LE(BlockPartition::detect(a, options).largest_block(), max_size);
      }
  }
}

TEST(DetectCoupled, IsTheSameForEveryScalarOrderAndBase) {
  const auto a = tridiagonal(40, -1.0, 3.0);
  const DetectOptions options{.max_size = 7, .merge = Merge::coupled};
  const auto expected = BlockPartition::detect(a, options);
  std::vector<std::int32_t> offsets{1};
  std::vector<index_t> columns;
  std::vector<std::complex<float>> values;
  for (index_t i = 0; i < 40; ++i) {
    for (offset_t k = a.view().row_offsets[i + 1]; k-- > a.view().row_offsets[i];) {
      columns.push_back(a.view().columns[k] + 1);
      columns.push_back(a.view().columns[k] + 1);
      // duplicates count by their sum
      values.emplace_back(100.0F, static_cast<float>(a.view().values[k]));
      values.emplace_back(-100.0F, 0.0F);
    }
    offsets.push_back(static_cast<std::int32_t>(columns.size()) + 1);
  }
  const CsrView<std::complex<float>, std::int32_t> view{40,
                                                        40,
                                                        static_cast<offset_t>(columns.size()),
                                                        offsets.data(),
                                                        columns.data(),
                                                        values.data(),
                                                        IndexBase::one,
                                                        MemorySpace::host};
  EXPECT_EQ(BlockPartition::detect(view, options), expected);
  EXPECT_EQ(BlockPartition::detect(Backend::host(), view, options), expected);
}

TEST(DetectCoupled, NanCouplesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto a = CsrMatrix<double>::from_triplets(
      3, 3, std::vector<Triplet<double>>{{0, 0, 1}, {0, 1, nan}, {1, 1, 1}, {1, 2, 1}, {2, 2, 1}});
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, DetectOptions{.merge = Merge::coupled})), (Offsets{0, 1, 3}));
}

TEST(DetectMerge, NoneGivesTheSupervariables) {
  const CsrMatrix<double> a(5, 5, {0, 2, 4, 5, 6, 7}, {0, 1, 0, 1, 2, 3, 4}, std::vector<double>(7, 1.0));
  EXPECT_EQ(offsets_of(BlockPartition::detect(a, DetectOptions{.merge = Merge::none})), (Offsets{0, 2, 3, 4, 5}));
  EXPECT_EQ(BlockPartition::detect(a, DetectOptions{}), BlockPartition::detect(a));
}

/// Rows with the columns 0 .. 9, but for one that lacks the last `missing`.
CsrMatrix<double> nearly_equal_rows(index_t missing) {
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < 10; ++i)
    for (index_t j = 0; j < (i == 4 ? 10 - missing : 10); ++j) entries.push_back({i, j, 1.0});
  return CsrMatrix<double>::from_triplets(10, 10, entries);
}

TEST(DetectTolerance, IsThePartOfTheEntriesThatMayDiffer) {
  const auto blocks = [](index_t missing, double tolerance) {
    return offsets_of(BlockPartition::detect(nearly_equal_rows(missing),
                                             DetectOptions{.tolerance = tolerance, .merge = Merge::none}));
  };
  const Offsets together{0, 10}, apart{0, 4, 5, 10};
  EXPECT_EQ(blocks(0, 0.0), together);
  EXPECT_EQ(blocks(1, 0.0), apart);
  EXPECT_EQ(blocks(1, 0.09), apart);
  EXPECT_EQ(blocks(1, 0.1), together);
  EXPECT_EQ(blocks(3, 0.29), apart);
  EXPECT_EQ(blocks(3, 0.3), together);
}

TEST(DetectTolerance, EqualsTheSetDistanceOnRandomPatterns) {
  Random random(5);
  for (int repeat = 0; repeat < 100; ++repeat) {
    const index_t n = 2 + random.index(12);
    std::vector<Triplet<double>> entries;
    for (index_t k = 0; k < 4 * n; ++k) entries.push_back({random.index(n), random.index(n), 1.0});
    const auto a = CsrMatrix<double>::from_triplets(n, n, entries);
    const double tolerance = 0.5 * (random.real() + 1.0);
    if (tolerance >= 1.0) continue;
    const auto row = [&](index_t i) {
      return std::set<index_t>(a.view().columns + a.view().row_offsets[i],
                               a.view().columns + a.view().row_offsets[i + 1]);
    };
    Offsets expected{0};
    for (index_t i = 1; i < n; ++i) {
      const auto p = row(i), q = row(i - 1);
      double common = 0;
      for (const index_t c : p) common += q.contains(c) ? 1 : 0;
      const double all = static_cast<double>(p.size() + q.size()) - common;
      if (!(all - common <= tolerance * all && i - expected.back() < 5)) expected.push_back(i);
    }
    expected.push_back(n);
    const DetectOptions options{.max_size = 5, .tolerance = tolerance, .merge = Merge::none};
    EXPECT_EQ(offsets_of(BlockPartition::detect(a, options)), expected) << tolerance;
  }
}

TEST(DetectOptionsChecks, NameTheValue) {
  const auto a = tridiagonal(3, 1.0, 2.0);
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(a, DetectOptions{.max_size = 513}); }),
            "BlockPartition::detect: block size is 513, must be in 1..512");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(a, DetectOptions{.tolerance = 1.0}); }),
            "BlockPartition::detect: tolerance is 1, must be in [0, 1)");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(a, DetectOptions{.tolerance = -0.5}); }),
            "BlockPartition::detect: tolerance is -0.5, must be in [0, 1)");
  EXPECT_EQ(
      message_of([&] { (void)BlockPartition::detect(a, DetectOptions{.merge = Merge::coupled, .coupling = -1.0}); }),
      "BlockPartition::detect: coupling is -1, must be >= 0");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(a, DetectOptions{.merge = static_cast<Merge>(9)}); }),
            "BlockPartition::detect: merge is 9, no enumerator");
  auto pattern = a.view();
  pattern.values = nullptr;
  EXPECT_EQ(message_of([&] { (void)BlockPartition::detect(pattern, DetectOptions{.merge = Merge::coupled}); }),
            "BlockPartition::detect: the matrix has 7 entries but no values, which Merge::coupled looks at");
  EXPECT_EQ(BlockPartition::detect(pattern, DetectOptions{}).blocks(), 1);
}

}  // namespace
}  // namespace blockjacobi::test
