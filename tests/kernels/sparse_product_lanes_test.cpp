#include "core/compute_views.hpp"
#include "core/csr_pattern.hpp"
#include "kernels/coarse/launch_products.hpp"
#include "kernels/coarse/policy.hpp"
#include "tests/kernels/systems.hpp"

#include <map>
#include <utility>

namespace blockjacobi::test {
namespace {

/// The pattern and the values of a product with every number of lanes, whichever the policies take for its size.
template <class T>
class SparseProductLanesTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(SparseProductLanesTest, Scalars);

/// A row of the product for each length, found in one row of B and, the more entries a row of A has, in parts of
/// others; between them rows without entries.
template <Scalar T>
std::pair<CsrMatrix<T>, CsrMatrix<T>> factors(const std::vector<index_t>& lengths, index_t entries) {
  Random random(71);
  std::vector<Triplet<T>> a, b;
  index_t j = 0;
  for (std::size_t n = 0; n < lengths.size(); ++n)
    for (index_t k = 0; k < entries + static_cast<index_t>(n); ++k, ++j) {
      a.push_back({static_cast<index_t>(2 * n), j, random.scalar<T>()});
      const index_t step = k == entries / 2 ? 1 : 2 + random.index(40);
      for (index_t c = k % 3; c < lengths[n]; c += step) b.push_back({j, 5 * c + 3, random.scalar<T>()});
      for (index_t c = 0; step == 1 && c < k % 3 && c < lengths[n]; ++c) b.push_back({j, 5 * c + 3, T(1)});
    }
  return {CsrMatrix<T>::from_triplets(static_cast<index_t>(2 * lengths.size()), j, a),
          CsrMatrix<T>::from_triplets(j, 5 * lengths.back(), b)};
}

/// Column, value and sum of magnitudes of the elements of a row of A B, in double.
template <Scalar T>
std::map<index_t, std::pair<std::complex<double>, double>> row_of_product(const CsrMatrix<T>& a, const CsrMatrix<T>& b,
                                                                          std::size_t i) {
  std::map<index_t, std::pair<std::complex<double>, double>> row;
  for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
    const auto j = static_cast<std::size_t>(a.columns()[static_cast<std::size_t>(k)]);
    const std::complex<double> factor(a.values()[static_cast<std::size_t>(k)]);
    for (offset_t e = b.row_offsets()[j]; e < b.row_offsets()[j + 1]; ++e) {
      const auto term = factor * std::complex<double>(b.values()[static_cast<std::size_t>(e)]);
      auto& [value, magnitude] = row[b.columns()[static_cast<std::size_t>(e)]];
      value += term;
      magnitude += std::abs(term);
    }
  }
  return row;
}

template <Scalar T>
void expect_product(const std::vector<index_t>& lengths, index_t entries) {
  const Backend backend = Backend::cuda();
  const auto [host_a, host_b] = factors<T>(lengths, entries);
  const CsrArrays<T, std::int32_t> a(backend, host_a, IndexBase::one);
  const CsrArrays<T, std::int64_t> wide(backend, host_a, IndexBase::one);
  const CsrArrays<T, std::int32_t> b(backend, host_b);
  std::vector<std::int32_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<std::pair<std::complex<double>, double>> expected;
  for (std::size_t i = 0; i < 2 * lengths.size(); ++i) {
    for (const auto& [column, sum] : row_of_product(host_a, host_b, i)) {
      columns.push_back(column);
      expected.push_back(sum);
    }
    offsets.push_back(static_cast<std::int32_t>(columns.size()));
    ASSERT_EQ(offsets[i + 1] - offsets[i], i % 2 == 0 ? lengths[i / 2] : 0);
  }
  const Array<std::int32_t> device_offsets(backend, offsets);
  const Array<index_t> device_columns(backend, columns);
  const double terms = static_cast<double>(entries) + static_cast<double>(lengths.size());
  std::vector<T> first;
  const auto check = [&](int lanes, const auto& view) {
    SCOPED_TRACE(lanes);
    Array<T> values(backend, std::vector<T>(columns.size(), std::numeric_limits<real_t<T>>::quiet_NaN()));
    kernels::sparse_product(lanes, detail::compute_view(view), detail::compute_view(b.view()), device_offsets.data(),
                            device_columns.data(), data_of(values), backend.stream());
    const std::vector<T> found = values.to_host();
    for (std::size_t k = 0; k < found.size(); ++k)
      ASSERT_LE(std::abs(std::complex<double>(found[k]) - expected[k].first),
                rounding_of_sum<T>(terms, expected[k].second))
          << "element " << k;
    // Sums are in the order of the entries of A.
    if (first.empty()) first = found;
    EXPECT_TRUE(found == first);
  };
  for (const int lanes : {kernels::few_product_lanes, 32, kernels::coarse_threads}) check(lanes, a.view());
  check(kernels::few_product_lanes, wide.view());
}

template <Scalar T>
void expect_pattern(const std::vector<index_t>& lengths, index_t entries, int lanes) {
  const Backend backend = Backend::cuda();
  const auto [host_a, host_b] = factors<T>(lengths, entries);
  const CsrArrays<T, std::int64_t> a(backend, host_a, IndexBase::one);
  const CsrArrays<T, std::int32_t> b(backend, host_b);
  const CsrView<const void, std::int64_t> a_view = detail::pattern_of(a.view());
  const CsrView<const void, std::int32_t> b_view = detail::pattern_of(b.view());
  std::vector<std::int32_t> offsets{0}, lengths_of_lanes;
  std::vector<index_t> columns;
  for (std::size_t i = 0; i < 2 * lengths.size(); ++i) {
    const index_t length = i % 2 == 0 ? lengths[i / 2] : 0;
    lengths_of_lanes.push_back(length <= kernels::most_product_columns(lanes) ? length : -1);
    for (index_t c = 0; c < length; ++c) columns.push_back(5 * c + 3);
    offsets.push_back(offsets.back() + length);
  }
  lengths_of_lanes.push_back(0);
  const bool are_left = std::ranges::count(lengths_of_lanes, -1) > 0;
  Array<std::int32_t> counted(backend, offsets.size());
  Array<kernels::ColumnCounts> counts(backend, std::vector<kernels::ColumnCounts>(1));
  kernels::count_columns(lanes, a_view, b_view, counted.data(), counts.data(), backend.stream());
  EXPECT_EQ(counted.to_host(), lengths_of_lanes);
  EXPECT_EQ(counts.to_host()[0].left != 0, are_left);
  kernels::count_left(a_view, b_view, counted.data(), counts.data(), backend.stream());
  const kernels::ColumnCounts found = counts.to_host()[0];
  EXPECT_EQ(found.columns, columns.size());
  EXPECT_EQ(found.too_many, 0u);
  const Array<std::int32_t> device_offsets(backend, offsets);
  Array<index_t> listed(backend, std::vector<index_t>(columns.size(), -1));
  kernels::list_columns(lanes, a_view, b_view, device_offsets.data(), listed.data(), backend.stream());
  kernels::list_left(lanes, a_view, b_view, device_offsets.data(), listed.data(), backend.stream());
  EXPECT_TRUE(listed.to_host() == columns);
}

std::vector<index_t> lengths_around_tables() {
  std::vector<index_t> lengths{1, 3};
  for (const int lanes : {8, 16, 32, kernels::coarse_threads})
    for (const int more : {0, 1}) lengths.push_back(kernels::most_product_columns(lanes) + more);
  return lengths;
}

/// As many columns as the lanes have room for, and one more.
TYPED_TEST(SparseProductLanesTest, RowsOfEveryLength) {
  for (const index_t entries : {1, 5, 40, 300}) expect_product<TypeParam>(lengths_around_tables(), entries);
}

/// Those that the lanes have no room for are left to a thread block.
TYPED_TEST(SparseProductLanesTest, PatternsOfEveryLength) {
  std::vector<index_t> lengths = lengths_around_tables();
  lengths.pop_back();
  for (const index_t entries : {1, 5, 40, 300})
    for (const int lanes : {8, 16, 32, kernels::coarse_threads}) {
      SCOPED_TRACE(::testing::Message() << entries << " entries, " << lanes << " lanes");
      expect_pattern<TypeParam>(lengths, entries, lanes);
    }
}

}  // namespace
}  // namespace blockjacobi::test
