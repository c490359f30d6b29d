#include "backends/batched_cholesky.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(BatchedOnBackend, CholeskyAndItsInverse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(201);
  for (const index_t n : all_batched_orders())
    for (const Triangle triangle : triangles) {
      const auto matrices = spd_matrices<T>(n, random);
      const auto [factors, inverses] =
          factored_and_inverted(backend, triangle, only_triangles(triangle, matrices), n % 3);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy);
        for (index_t i = 0; i < n; ++i) {
          EXPECT_GT(std::real(factors[k](i, i)), 0);
          EXPECT_EQ(std::imag(factors[k](i, i)), 0);
          EXPECT_EQ(std::imag(inverses[k](i, i)), 0);
        }
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, completed(triangle, inverses[k])), accuracy);
      }
    }
}

TYPED_TEST(BatchedOnBackend, CholeskyOfLargeMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(208);
  for (const index_t n : large_orders)
    for (const Triangle triangle : triangles) {
      auto matrices = spd_matrices<T>(n, random);
      if (n > 200) matrices.resize(2);
      const auto [factors, inverses] =
          factored_and_inverted(backend, triangle, only_triangles(triangle, matrices), n % 3);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        SCOPED_TRACE(matrices[k].name + ", order " + std::to_string(n));
        EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy);
        if (n <= 200 || k == 0) {
          EXPECT_LE(inverse_error<T>(matrices[k].matrix, completed(triangle, inverses[k])), accuracy);
        }
      }
    }
}

/// Tiny matrices of each class of orders and large ones in one batch, some indefinite.
TYPED_TEST(BatchedOnBackend, CholeskyOfTinyAndLargeMatrices) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(209);
  for (const auto& [triangle, largest] : {std::pair{Triangle::lower, 77},
                                          {Triangle::upper, 77},
                                          {Triangle::lower, 130},
                                          {Triangle::upper, 130},
                                          {Triangle::lower, 201},
                                          {Triangle::upper, 201}}) {
    std::vector<NamedMatrix<T>> matrices;
    for (const index_t n : {40, 7, largest, 33, 32, 3, 12, 16, 20, 24, 28})
      matrices.push_back(spd_matrices<T>(n, random)[0]);
    std::vector<int> expected(matrices.size(), 0);
    for (const index_t j : {0, 20, 56}) {
      matrices.push_back(spd_matrices<T>(57, random)[0]);
      matrices.back().matrix(j, j) = -matrices.back().matrix(j, j);
      expected.push_back(j + 1);
    }
    const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.padding = 1, .pointers = true, .orders = true});
    const auto factors = factored(backend, triangle, a, expected);
    Array<int> info(backend, matrices.size());
    batched::potri(backend, triangle, a.view(), info.data());
    EXPECT_TRUE(a.padding_untouched());
    const auto inverses = a.matrices();
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      if (expected[k] == 0) {
        EXPECT_LE(inverse_error<T>(matrices[k].matrix, completed(triangle, inverses[k])), accuracy) << "matrix " << k;
      }
      const index_t j = expected[k] == 0 ? matrices[k].matrix.rows() : expected[k] - 1;  // the order of the factor
      if (j == 0) continue;
      const Dense<T> leading = matrices[k].matrix.topLeftCorner(j, j), factor = factors[k].topLeftCorner(j, j);
      EXPECT_LE(cholesky_error(triangle, leading, factor), accuracy) << "matrix " << k << ", order " << j;
    }
  }
}

template <Scalar T>
void expect_cholesky_of_many_matrices(const Backend& backend, const std::vector<index_t>& orders) {
  Random random(207);
  for (const index_t n : orders) {
    if (n > 32) continue;
    std::vector<NamedMatrix<T>> matrices;  // several warps and a part of one
    for (int i = 0; i < 9; ++i)
      for (auto& m : spd_matrices<T>(n, random)) matrices.push_back(std::move(m));
    matrices.pop_back();
    for (const Triangle triangle : triangles)
      for (const index_t padding : {0, 1}) {
        const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.padding = padding});
        const auto factors = factored(backend, triangle, a, std::vector<int>(matrices.size()));
        for (std::size_t k = 0; k < matrices.size(); ++k)
          EXPECT_LE(cholesky_error(triangle, matrices[k].matrix, factors[k]), accuracy)
              << matrices[k].name << ", order " << n << ", padding " << padding;
      }
  }
}

TYPED_TEST(BatchedOnBackend, CholeskyOfManyMatrices) {
  expect_cholesky_of_many_matrices<typename TypeParam::Scalar>(this->make_backend(), few_batched_orders());
}

TYPED_TEST(BatchedOnBackend, CholeskyOfManyMatricesOfEveryOrder) {
  expect_cholesky_of_many_matrices<typename TypeParam::Scalar>(this->make_backend(), all_batched_orders());
}

TYPED_TEST(BatchedOnBackend, TwoRunsOfCholeskyGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(212);
  for (const index_t n : {5, 16, 29, 75})
    for (const Triangle triangle : triangles) {
      std::vector<Dense<T>> matrices;
      for (int i = 0; i < 25; ++i)
        for (const auto& m : spd_matrices<T>(n, random)) matrices.push_back(m.matrix);
      const auto factors = [&] {
        return factored(backend, triangle, TestBatch<T>(backend, matrices), std::vector<int>(matrices.size()));
      };
      const auto one = factors(), two = factors();
      for (std::size_t k = 0; k < matrices.size(); ++k) EXPECT_TRUE(same_bits(one[k], two[k])) << "order " << n;
    }
}

TYPED_TEST(BatchedOnBackend, CholeskyOfSubnormalMatrices) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  Random random(209);
  const R least = std::numeric_limits<R>::denorm_min();
  for (const index_t n : {1, 4, 7, 12, 16, 19, 32})
    for (const Triangle triangle : triangles)
      for (const index_t padding : {0, 1}) {
        // Diagonals around 2^10 times the least number.
        const Dense<T> scaled = spd_matrices<T>(n, random)[0].matrix * T(1024 * least);
        const TestBatch<T> a(backend, {only_triangle(triangle, scaled)}, {.padding = padding});
        SCOPED_TRACE("order " + std::to_string(n));
        WideDense<T> f = widened(completed(triangle, factored(backend, triangle, a, {0})[0]));
        f = triangle == Triangle::lower ? WideDense<T>(f.template triangularView<Eigen::Lower>())
                                        : WideDense<T>(f.template triangularView<Eigen::Upper>().adjoint());
        EXPECT_LE(distance(adjoint_square(f), widened(scaled)), 4 * n * n * static_cast<long double>(least));
      }
}

}  // namespace
}  // namespace blockjacobi::test
