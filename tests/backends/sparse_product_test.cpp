#include "backend/backend_impl.hpp"
#include "core/compute_views.hpp"
#include "support/backends.hpp"
#include "support/csr_arrays.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace blockjacobi::test {
namespace {

template <class Case>
class SparseProductOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(SparseProductOnBackend, BackendCases, BackendCaseName);

std::size_t at(offset_t i) { return static_cast<std::size_t>(i); }

/// Up to `width` entries a row, the columns of some near to each other, of others anywhere; every seventh row is empty.
template <Scalar T>
CsrMatrix<T> random_matrix(index_t rows, index_t cols, index_t width, std::uint64_t seed) {
  Random random(seed);
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < rows; ++i) {
    if (i % 7 == 3) continue;
    const index_t near = random.index(cols);
    for (index_t k = 0; k < width; ++k) {
      const index_t j = k % 2 == 0 ? std::min(cols - 1, near + k) : random.index(cols);
      entries.push_back({i, j, random.scalar<T>()});
    }
  }
  return CsrMatrix<T>::from_triplets(rows, cols, entries);
}

/// Column and value, with the sum of magnitudes, of the elements of a row of A B; sums in the order of the entries of
/// A.
template <Scalar T>
std::map<index_t, std::pair<T, double>> row_of_product(const CsrMatrix<T>& a, const CsrMatrix<T>& b, index_t i) {
  std::map<index_t, std::pair<T, double>> row;
  for (offset_t k = a.row_offsets()[at(i)]; k < a.row_offsets()[at(i) + 1]; ++k) {
    const index_t j = a.columns()[at(k)];
    for (offset_t e = b.row_offsets()[at(j)]; e < b.row_offsets()[at(j) + 1]; ++e) {
      const T term = a.values()[at(k)] * b.values()[at(e)];
      auto& [value, magnitude] = row[b.columns()[at(e)]];
      value += term;
      magnitude += static_cast<double>(std::abs(term));
    }
  }
  return row;
}

template <Scalar T>
detail::CoarseMatrix<T> uploaded(const Backend& backend, const CsrMatrix<T>& m) {
  std::vector<std::int32_t> offsets(m.row_offsets().begin(), m.row_offsets().end());
  return {{m.rows(), m.cols(), Array<std::int32_t>(backend, offsets),
           Array<index_t>(backend, std::vector<index_t>(m.columns().begin(), m.columns().end()))},
          Array<T>(backend, std::vector<T>(m.values().begin(), m.values().end()))};
}

/// Columns ascending, the values to rounding, in each form of A; returns the longest row.
template <Scalar T>
std::size_t expect_product(const Backend& backend, const CsrMatrix<T>& host_a, const CsrMatrix<T>& host_b) {
  auto& ops = detail::coarse_ops<T>(backend);
  const detail::CoarseMatrix<T> b = uploaded(backend, host_b);
  std::size_t longest = 0;
  const auto check = [&](const AnyCsrView<T>& a) {
    const detail::CoarsePattern found = ops.product_pattern(backend, a, b.pattern);
    Array<T> values(backend, found.columns.size());
    ops.multiply(a, b.compute_view(), found, detail::compute_cast(values.data()));
    const std::vector<std::int32_t> offsets = found.offsets.to_host();
    const std::vector<index_t> columns = found.columns.to_host();
    const std::vector<T> sums = values.to_host();
    ASSERT_EQ(found.rows, host_a.rows());
    ASSERT_EQ(found.cols, host_b.cols());
    ASSERT_EQ(offsets.size(), at(found.rows) + 1);
    ASSERT_EQ(at(offsets.back()), columns.size());
    for (index_t i = 0; i < found.rows; ++i) {
      const auto row = row_of_product(host_a, host_b, i);
      ASSERT_EQ(at(offsets[at(i) + 1] - offsets[at(i)]), row.size()) << "row " << i;
      longest = std::max(longest, row.size());
      std::size_t k = at(offsets[at(i)]);
      for (const auto& [column, sum] : row) {
        ASSERT_EQ(columns[k], column) << "row " << i;
        // a product and a sum for each term, contracted or not; complex ones of four products
        const double terms = static_cast<double>(host_a.row_offsets()[at(i) + 1] - host_a.row_offsets()[at(i)]);
        ASSERT_LE(std::abs(sums[k] - sum.first),
                  2 * (terms + 4) * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) * sum.second)
            << "row " << i;
        ++k;
      }
    }
  };
  check(CsrArrays<T, std::int32_t>(backend, host_a, IndexBase::zero).view());
  check(CsrArrays<T, std::int64_t>(backend, host_a, IndexBase::one).view());
  return longest;
}

TYPED_TEST(SparseProductOnBackend, OfShortRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  EXPECT_LE(expect_product(backend, random_matrix<T>(3000, 2000, 7, 1), random_matrix<T>(2000, 400, 3, 2)), 48u);
  EXPECT_LE(expect_product(backend, random_matrix<T>(1, 1, 1, 3), random_matrix<T>(1, 1, 1, 4)), 1u);
}

TYPED_TEST(SparseProductOnBackend, OfRowsOfEveryLength) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t width : {8, 16, 40}) {
    const std::size_t longest =
        expect_product(backend, random_matrix<T>(500, 700, width, 5), random_matrix<T>(700, 900, 8, 6));
    EXPECT_GT(longest, 48u);
    EXPECT_LE(longest, 384u);
  }
  EXPECT_GT(expect_product(backend, random_matrix<T>(300, 700, 60, 7), random_matrix<T>(700, 3000, 12, 8)), 384u);
  // More distinct columns than any table has room for, also in one row alone.
  EXPECT_GT(expect_product(backend, random_matrix<T>(20, 700, 300, 7), random_matrix<T>(700, 9000, 12, 8)), 1536u);
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < 2000; ++i) entries.push_back({i, i, T(2)});
  for (index_t j = 0; j < 500; ++j) entries.push_back({250, j, T(1)});
  const auto with_long_row = CsrMatrix<T>::from_triplets(2000, 2000, entries);
  EXPECT_EQ(expect_product(backend, with_long_row, with_long_row), 500u);
  for (index_t j = 0; j < 1537; ++j) entries.push_back({1777, j, T(1)});
  const auto with_longer_row = CsrMatrix<T>::from_triplets(2000, 2000, entries);
  EXPECT_EQ(expect_product(backend, with_longer_row, with_longer_row), 1538u);
}

/// As many columns as a table has room for, and one more.
TYPED_TEST(SparseProductOnBackend, OfRowsAsLongAsTables) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t length : {47, 48, 49, 191, 192, 193, 1535, 1536, 1537}) {
    std::vector<Triplet<T>> a, b;
    for (index_t j = 0; j < 40; ++j) a.push_back({j % 3, j, T(1)});
    for (index_t j = 0; j < 40; ++j)
      for (index_t c = 0; c < length; c += j % 3 + 1) b.push_back({j, c * 5 + 3, T(1)});
    EXPECT_EQ(
        expect_product(backend, CsrMatrix<T>::from_triplets(3, 40, a), CsrMatrix<T>::from_triplets(40, 5 * length, b)),
        at(length));
  }
}

TYPED_TEST(SparseProductOnBackend, OfMoreThan65536Rows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  EXPECT_LE(expect_product(backend, random_matrix<T>(70001, 70001, 3, 9), random_matrix<T>(70001, 9000, 2, 10)), 48u);
}

TYPED_TEST(SparseProductOnBackend, OfNothing) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto empty = [](index_t rows, index_t cols) { return CsrMatrix<T>::from_triplets(rows, cols, {}); };
  EXPECT_EQ(expect_product(backend, empty(5, 4), random_matrix<T>(4, 3, 2, 11)), 0u);
  EXPECT_EQ(expect_product(backend, random_matrix<T>(5, 4, 2, 12), empty(4, 3)), 0u);
  EXPECT_EQ(expect_product(backend, empty(0, 0), empty(0, 0)), 0u);
}

}  // namespace
}  // namespace blockjacobi::test
