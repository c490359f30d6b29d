#include "backend/host_invert.hpp"

#include "backend/host_rows.hpp"
#include "support/dense.hpp"

#include <gtest/gtest.h>

namespace blockjacobi::test {
namespace {

template <class T>
class HostInvert : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(HostInvert, Scalars);

TYPED_TEST(HostInvert, PanelsEqualColumnsByTheResidual) {
  Random random(1);
  for (const index_t n : {1, 2, 31, 32, 33, 64, 65, 100, 200}) {
    const Dense<TypeParam> a = random_dense<TypeParam>(n, random);
    Dense<TypeParam> x = a;
    EXPECT_EQ(detail::paneled_gauss_jordan(x.data(), n), 0);
    EXPECT_LE(inverse_error<TypeParam>(a, x), 10.0) << "order " << n;
  }
  for (const int n : {1, 2, 17, 24, 31, 32}) {
    const Dense<TypeParam> a = random_dense<TypeParam>(n, random);
    Dense<TypeParam> x = a;
    EXPECT_EQ(detail::gauss_jordan(detail::compute_cast(x.data()), n), 0);
    EXPECT_LE(inverse_error<TypeParam>(a, x), 10.0) << "order " << n;
  }
  const Dense<TypeParam> a = random_dense<TypeParam>(13, random);
  Dense<TypeParam> x = a;
  EXPECT_EQ(detail::gauss_jordan(detail::compute_cast(x.data()), std::integral_constant<int, 13>{}), 0);
  EXPECT_LE(inverse_error<TypeParam>(a, x), 10.0);
}

TYPED_TEST(HostInvert, NamesTheFirstZeroPivot) {
  for (const index_t zero : {0, 5, 31, 32, 40, 69}) {
    Dense<TypeParam> a = Dense<TypeParam>::Identity(70, 70);
    a(zero, zero) = TypeParam(0);
    EXPECT_EQ(detail::paneled_gauss_jordan(a.data(), 70), zero + 1);
  }
  Dense<TypeParam> a = Dense<TypeParam>::Ones(8, 8);
  EXPECT_EQ(detail::gauss_jordan(detail::compute_cast(a.data()), std::integral_constant<int, 8>{}), 2);
}

TEST(RowChunks, CoverEveryRowOnceForAnyLength) {
  for (const index_t n : {0, 1, 511, 512, 513, 131072, 131073, 2147483647}) {
    const detail::RowChunks chunks(n);
    EXPECT_LE(chunks.count, detail::RowChunks::capacity);
    offset_t covered = 0;
    for (index_t c = 0; c < chunks.count; ++c) {
      EXPECT_EQ(chunks.begin(c), covered);
      covered += chunks.end(c) - chunks.begin(c);
    }
    EXPECT_EQ(covered, n);
  }
}

TEST(SumRows, DoesNotDependOnTheThreads) {
  Random random(2);
  std::vector<double> x(100'000), y(x.size());
  for (double& value : x) value = random.real();
  for (double& value : y) value = random.real();
  const auto n = static_cast<index_t>(x.size());
  const double one = detail::dot(n, 1, x.data(), y.data());
  for (const int threads : {2, 3, 7}) EXPECT_EQ(detail::dot(n, threads, x.data(), y.data()), one);
}

}  // namespace
}  // namespace blockjacobi::test
