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
      WideDense<T> expected = product(a, x);
      for (index_t i = 0; i < n; ++i)
        expected.row(i).swap(expected.row(pivots[k * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)] - 1));
      const WideDense<T> upper = lu.template triangularView<Eigen::Upper>();
      const WideDense<T> lower = lu.template triangularView<Eigen::UnitLower>();
      const WideDense<T> found = product(lower, product(upper, x));
      EXPECT_LE(error_on_vectors<T>(expected - found, x, a.norm()), accuracy) << matrices[k].name << ", order " << n;
    }
  }
}

/// min(||A X v - v||, ||X A v - v||) / (N eps ||A|| ||X|| ||v||) for vectors v.
template <Scalar T>
double inverse_error_on_vectors(const Dense<T>& matrix, const Dense<T>& inverse, const WideDense<T>& v) {
  const WideDense<T> a = widened(matrix), x = widened(inverse);
  const long double norm = static_cast<long double>(a.norm()) * x.norm();
  const WideDense<T> right = v - product(a, product(x, v)), left = v - product(x, product(a, v));
  return std::min(error_on_vectors<T>(right, v, norm), error_on_vectors<T>(left, v, norm));
}

/// In place, in one pass or from the factors.
template <Scalar T>
void invert(const Backend& backend, const TestBatch<T>& batch, bool from_factors, Array<int>& info) {
  if (!from_factors) return batched::inverse(backend, batch.view(), batch.view(), info.data());
  Array<index_t> ipiv(backend, static_cast<std::size_t>(batch.view().rows) * info.size());
  batched::getrf(backend, batch.view(), ipiv.data(), info.data());
  batched::getri(backend, batch.view(), ipiv.data(), batch.view(), info.data());
}

template <Scalar T>
void expect_inverses_of_hard_matrices(const Backend& backend, index_t n, bool from_factors, bool many, Random& random) {
  const auto matrices = hard_matrices<T>(n, random);
  const auto input = many ? among_many(without_names(matrices)) : without_names(matrices);
  const TestBatch<T> batch(backend, input, {.padding = n % 3, .orders = many});
  Array<int> info(backend, input.size());
  invert(backend, batch, from_factors, info);
  EXPECT_TRUE(batch.padding_untouched());
  EXPECT_EQ(info.to_host(), std::vector<int>(input.size(), 0));
  const auto inverses = batch.matrices();
  const WideDense<T> v = random_vectors<T>(n, random);
  for (std::size_t k = 0; k < matrices.size(); ++k)
    EXPECT_LE(inverse_error_on_vectors(matrices[k].matrix, inverses[k], v), accuracy)
        << matrices[k].name << ", order " << n << (from_factors ? ", getri" : "") << (many ? ", among many" : "");
}

TYPED_TEST(BatchedOnBackend, InversesOfLargeHardMatrices) {
  Random random(512);
  for (const index_t n : hard_orders)
    for (const bool from_factors : {false, true})
      expect_inverses_of_hard_matrices<typename TypeParam::Scalar>(this->make_backend(), n, from_factors, false,
                                                                   random);
}

/// Of complex matrices a thread block has each anyway.
TYPED_TEST(BatchedOnBackend, InversesOfHardMatricesAmongMany) {
  using T = typename TypeParam::Scalar;
  Random random(514);
  for (const index_t n : {97, 128, 160, 190, 256, 333, 512}) {
    if (is_complex<T> && n > 128) continue;
    expect_inverses_of_hard_matrices<T>(this->make_backend(), n, false, true, random);
  }
}

/// Orders of every kind in one batch, whose largest chooses the kernels.
template <Scalar T>
void expect_inverses_of_mixed_orders(const Backend& backend, index_t largest) {
  Random random(516);
  for (const bool from_factors : {false, true})
    for (const bool many : {false, true}) {
      if (many && (from_factors || is_complex<T>)) continue;
      std::vector<Dense<T>> matrices;
      for (const index_t n : {5, 0, 33, largest, 1, 100, 32, 64, 129})
        matrices.push_back(uniform_random<T>(n, n, random));
      const auto input = many ? among_many(matrices) : matrices;
      const TestBatch<T> batch(backend, input, {.padding = 1, .orders = true});
      Array<int> info(backend, input.size());
      invert(backend, batch, from_factors, info);
      EXPECT_TRUE(batch.padding_untouched());
      EXPECT_EQ(info.to_host(), std::vector<int>(input.size(), 0));
      const auto inverses = batch.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        const auto n = static_cast<index_t>(matrices[k].rows());
        if (n == 0) continue;
        EXPECT_LE(inverse_error_on_vectors(matrices[k], inverses[k], random_vectors<T>(n, random)), accuracy)
            << "order " << n << (from_factors ? ", getri" : "") << (many ? ", among many" : "");
      }
    }
}

TYPED_TEST(BatchedOnBackend, InversesOfMixedOrdersUpTo130) {
  expect_inverses_of_mixed_orders<typename TypeParam::Scalar>(this->make_backend(), 130);
}

TYPED_TEST(BatchedOnBackend, InversesOfMixedOrdersUpTo300) {
  expect_inverses_of_mixed_orders<typename TypeParam::Scalar>(this->make_backend(), 300);
}

TYPED_TEST(BatchedOnBackend, InversesOfMixedOrdersUpTo512) {
  expect_inverses_of_mixed_orders<typename TypeParam::Scalar>(this->make_backend(), 512);
}

/// Zero, and with a column of zeros; every way to an inverse names the first zero pivot.
template <Scalar T>
void expect_singular(const Backend& backend, index_t n, bool many, Random& random) {
  std::vector<Dense<T>> matrices{Dense<T>::Zero(n, n)};
  std::vector<int> expected{1};
  for (const index_t zero : {0, n / 2, n - 1}) {
    matrices.push_back(uniform_random<T>(n, n, random));
    matrices.back().col(zero).setZero();
    expected.push_back(static_cast<int>(zero) + 1);
  }
  const std::size_t singular = matrices.size();
  if (many) matrices = among_many(matrices);
  expected.resize(matrices.size());
  for (const bool from_factors : {false, true}) {
    SCOPED_TRACE("order " + std::to_string(n) + (from_factors ? ", getri" : "") + (many ? ", among many" : ""));
    const TestBatch<T> batch(backend, matrices, {.orders = many});
    Array<int> info(backend, matrices.size());
    invert(backend, batch, from_factors, info);
    EXPECT_EQ(info.to_host(), expected);
    const auto inverses = batch.matrices();
    for (std::size_t k = 0; k < singular; ++k) EXPECT_TRUE(all_nan(inverses[k])) << "matrix " << k;
  }
  const TestBatch<T> batch(backend, matrices, {.orders = many});
  Array<index_t> ipiv(backend, static_cast<std::size_t>(n) * matrices.size());
  Array<int> info(backend, matrices.size());
  batched::getrf(backend, batch.view(), ipiv.data(), info.data());
  EXPECT_EQ(info.to_host(), expected) << "order " << n;
}

TYPED_TEST(BatchedOnBackend, InversesOfLargeSingularMatrices) {
  using T = typename TypeParam::Scalar;
  Random random(515);
  for (const index_t n : {160, 333, 512}) {
    expect_singular<T>(this->make_backend(), n, false, random);
    if (!is_complex<T>) expect_singular<T>(this->make_backend(), n, true, random);
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
        const WideDense<T> found = product(lower, adjoint_product(lower, x));
        EXPECT_LE(error_on_vectors<T>(a * x - found, x, a.norm()), accuracy) << matrices[k].name << ", order " << n;
      }
      batched::potri(backend, triangle, batch.view(), info.data());
      EXPECT_EQ(info.to_host(), std::vector<int>(matrices.size(), 0));
      EXPECT_TRUE(batch.padding_untouched());
      const auto inverses = batch.matrices();
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        const Dense<T>& stored = inverses[k];
        const Dense<T> full = triangle == Triangle::lower ? Dense<T>(stored.template selfadjointView<Eigen::Lower>())
                                                          : Dense<T>(stored.template selfadjointView<Eigen::Upper>());
        EXPECT_LE(inverse_error_on_vectors(matrices[k].matrix, full, x), accuracy)
            << matrices[k].name << ", order " << n << ", potri";
      }
    }
  }
}

}  // namespace
}  // namespace blockjacobi::test
