#include "backends/batched_cholesky.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

/// Not positive definite first at a known order, and the order.
template <Scalar T>
struct Indefinite {
  Dense<T> matrix;
  int info;
};

template <Scalar T>
std::vector<Indefinite<T>> indefinite_matrices(index_t n, Random& random) {
  const Dense<T> plain = spd_matrices<T>(n, random)[0].matrix;
  std::vector<Indefinite<T>> matrices{{Dense<T>::Zero(n, n), 1}};
  for (const index_t j : {0, n / 2, n - 1}) {
    matrices.push_back({plain, j + 1});
    matrices.back().matrix(j, j) = -plain(j, j);
    matrices.push_back({plain, j + 1});
    matrices.back().matrix(j, j) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  }
  if (n > 1) matrices.push_back({Dense<T>::Ones(n, n), 2});
  return matrices;
}

template <Scalar T>
void expect_first_indefinite_minor(const Backend& backend, const std::vector<index_t>& orders) {
  Random random(205);
  for (const index_t n : orders)
    for (const Triangle triangle : triangles) {
      if (n > 77) continue;
      SCOPED_TRACE("order " + std::to_string(n));
      const auto bad = indefinite_matrices<T>(n, random);
      std::vector<Dense<T>> good, mixed;
      std::vector<int> expected;
      for (const auto& m : bad) {
        const Dense<T> neighbour = spd_matrices<T>(n, random)[0].matrix;
        good.insert(good.end(), {neighbour, neighbour});
        mixed.insert(mixed.end(), {neighbour, m.matrix});
        expected.insert(expected.end(), {0, m.info});
      }
      const TestBatch<T> a(backend, mixed), alone(backend, good), x(backend, mixed), x_alone(backend, good);
      const std::vector<int> no_failure(good.size());
      const auto inverses_alone = spd_inverses(backend, triangle, alone, x_alone, SpdStorage::full, no_failure);
      const auto inverses = spd_inverses(backend, triangle, a, x, SpdStorage::full, expected);
      const auto factors = factored(backend, triangle, a, expected);
      const auto factors_alone = factored(backend, triangle, alone, no_failure);
      for (std::size_t k = 0; k < mixed.size(); ++k) {
        if (k % 2 == 1) {
          EXPECT_TRUE(all_nan(inverses[k]));
        } else {
          EXPECT_TRUE(same_bits(inverses[k], inverses_alone[k]));
          EXPECT_TRUE(same_bits(factors[k], factors_alone[k]));
        }
      }
    }
}

TYPED_TEST(BatchedOnBackend, CholeskyNamesTheFirstIndefiniteMinor) {
  expect_first_indefinite_minor<typename TypeParam::Scalar>(this->make_backend(), few_batched_orders());
}

TYPED_TEST(BatchedOnBackend, CholeskyOfEveryOrderNamesTheFirstIndefiniteMinor) {
  expect_first_indefinite_minor<typename TypeParam::Scalar>(this->make_backend(), all_batched_orders());
}

TYPED_TEST(BatchedOnBackend, CholeskyFactorsUpToTheIndefiniteMinor) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(208);
  for (const index_t n : {3, 6, 8, 13, 16, 22, 32, 43}) {
    SCOPED_TRACE("order " + std::to_string(n));
    std::vector<Dense<T>> matrices;
    std::vector<int> expected;
    for (index_t j = 0; j < n; ++j) {
      const Dense<T> plain = spd_matrices<T>(n, random)[0].matrix;
      for (const T bad : {-plain(j, j), T(0), T(std::numeric_limits<real_t<T>>::quiet_NaN())}) {
        matrices.push_back(plain);
        matrices.back()(j, j) = bad;
        expected.push_back(j + 1);
      }
    }
    for (const Triangle triangle : triangles)
      for (const index_t padding : {0, 2}) {
        std::vector<Dense<T>> input;
        for (const auto& m : matrices) input.push_back(only_triangle(triangle, m));
        const TestBatch<T> a(backend, input, {.padding = padding});
        const auto factors = factored(backend, triangle, a, expected);
        for (std::size_t k = 0; k < matrices.size(); ++k) {
          const index_t j = expected[k] - 1;
          const Dense<T> leading = matrices[k].topLeftCorner(j, j), factor = factors[k].topLeftCorner(j, j);
          EXPECT_LE(cholesky_error(triangle, leading, factor), accuracy) << "minor " << j + 1;
        }
      }
  }
}

TYPED_TEST(BatchedOnBackend, InverseFromASingularCholeskyFactor) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {6, 45, 101})
    for (const Triangle triangle : triangles) {
      Dense<T> singular = Dense<T>::Identity(n, n);
      singular(3, 3) = singular(n - 1, n - 1) = T(0);
      const TestBatch<T> a(backend, {Dense<T>::Identity(n, n), only_triangle(triangle, singular)});
      Array<int> info(backend, 2);
      batched::potri(backend, triangle, a.view(), info.data());
      EXPECT_EQ(info.to_host(), (std::vector<int>{0, 4}));
      EXPECT_EQ(a.matrices()[0], Dense<T>(Dense<T>::Identity(n, n)));
      EXPECT_TRUE(all_nan(a.matrices()[1]));
    }
}

}  // namespace
}  // namespace blockjacobi::test
