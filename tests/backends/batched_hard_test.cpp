#include "support/batch.hpp"
#include "support/hard_matrices.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

// All hard matrices at orders where whole products in long double would take too long: the factors and inverses are
// taken as linear maps of a few vectors. (batched_qr_test.cpp does so for QR.)

constexpr index_t hard_orders[] = {256, 333, 512};

/// ||error|| / (N eps ||a|| ||x||), every norm Frobenius'.
template <Scalar T>
double error_on_vectors(const WideDense<T>& error, const WideDense<T>& x, long double norm) {
  const long double unit =
      static_cast<long double>(x.rows()) * static_cast<long double>(std::numeric_limits<real_t<T>>::epsilon());
  const long double scaled = static_cast<long double>(error.norm()) / (unit * norm * x.norm());
  return std::isfinite(scaled) ? static_cast<double>(scaled) : std::numeric_limits<double>::infinity();
}

template <Scalar T>
WideDense<T> random_vectors(index_t n, Random& random) {
  return widened(uniform_random<T>(n, 4, random));
}

TYPED_TEST(BatchedOnBackend, LuOfLargeHardMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(511);
  for (const index_t n : hard_orders) {
    const auto matrices = hard_matrices<T>(n, random);
    const TestBatch<T> batch(backend, without_names(matrices), {.padding = n % 3});
    Array<index_t> ipiv(backend, static_cast<std::size_t>(n) * matrices.size());
    Array<int> info(backend, matrices.size());
    batched::getrf(backend, batch.view(), ipiv.data(), info.data());
    EXPECT_TRUE(batch.padding_untouched());
    EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
    const auto pivots = ipiv.to_host();
    const auto factors = batch.matrices();
    const WideDense<T> x = random_vectors<T>(n, random);
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      const WideDense<T> a = widened(matrices[k].matrix), lu = widened(factors[k]);
      WideDense<T> expected = a * x;
      for (index_t i = 0; i < n; ++i)
        expected.row(i).swap(expected.row(pivots[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)] - 1));
      const WideDense<T> ux = lu.template triangularView<Eigen::Upper>() * x;
      const WideDense<T> found = lu.template triangularView<Eigen::UnitLower>() * ux;
      EXPECT_LE(error_on_vectors<T>(expected - found, x, a.norm()), accuracy) << matrices[k].name << ", order " << n;
    }
  }
}

TYPED_TEST(BatchedOnBackend, InversesOfLargeHardMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(512);
  for (const index_t n : hard_orders) {
    const auto matrices = hard_matrices<T>(n, random);
    const TestBatch<T> batch(backend, without_names(matrices), {.padding = n % 3});
    Array<int> info(backend, matrices.size());
    batched::inverse(backend, batch.view(), batch.view(), info.data());
    EXPECT_TRUE(batch.padding_untouched());
    EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
    const auto inverses = batch.matrices();
    const WideDense<T> v = random_vectors<T>(n, random);
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      const WideDense<T> a = widened(matrices[k].matrix), x = widened(inverses[k]);
      const long double norm = static_cast<long double>(a.norm()) * x.norm();
      const WideDense<T> right = v - a * WideDense<T>(x * v), left = v - x * WideDense<T>(a * v);
      EXPECT_LE(std::min(error_on_vectors<T>(right, v, norm), error_on_vectors<T>(left, v, norm)), accuracy)
          << matrices[k].name << ", order " << n;
    }
  }
}

TYPED_TEST(BatchedOnBackend, CholeskyOfLargeHardMatrices) {
  using T = typename TypeParam::Scalar;
  using batched::Triangle;
  const Backend backend = this->make_backend();
  Random random(513);
  for (const index_t n : hard_orders) {
    const auto matrices = spd_matrices<T>(n, random);
    const WideDense<T> x = random_vectors<T>(n, random);
    for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
      const TestBatch<T> batch(backend, without_names(matrices), {.padding = n % 3});
      Array<int> info(backend, matrices.size());
      batched::potrf(backend, triangle, batch.view(), info.data());
      EXPECT_TRUE(batch.padding_untouched());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      const auto factors = batch.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        const WideDense<T> a = widened(matrices[k].matrix);
        WideDense<T> lower = widened(factors[k]);
        if (triangle == Triangle::upper) lower.adjointInPlace();
        lower = WideDense<T>(lower.template triangularView<Eigen::Lower>());
        const WideDense<T> found = lower * WideDense<T>(lower.adjoint() * x);
        EXPECT_LE(error_on_vectors<T>(a * x - found, x, a.norm()), accuracy) << matrices[k].name << ", order " << n;
      }
    }
  }
}

}  // namespace
}  // namespace blockjacobi::test
