#include "support/batch.hpp"
#include "support/hard_matrices.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

// Above order 64 matrices do not influence each other either; the tests of each function have the smaller ones.

/// On CUDA a thread block has each matrix: in its memory as a whole, in memory and registers, or panel by panel; near
/// and far; with every shape of panels and blocks.
constexpr index_t thread_block_orders[] = {65, 77, 96, 128, 160, 190, 256, 300};

/// All that a function gave for one batch.
template <Scalar T>
struct Outputs {
  std::vector<Dense<T>> matrices;
  std::vector<int> info;
  std::vector<index_t> ipiv;
  std::vector<T> tau;
};

/// Those of call(a, outputs), in place; among many, or not.
template <Scalar T, class Call>
Outputs<T> outputs_of(const Backend& backend, std::vector<Dense<T>> matrices, Call call, bool many) {
  if (many) matrices = among_many(std::move(matrices));
  const TestBatch<T> batch(backend, matrices, {.orders = many});
  const std::size_t vectors = static_cast<std::size_t>(batch.view().rows) * matrices.size();
  Array<int> info(backend, std::vector<int>(matrices.size()));
  Array<index_t> ipiv(backend, std::vector<index_t>(vectors));
  Array<T> tau(backend, std::vector<T>(vectors));
  call(batch.view(), info.data(), ipiv.data(), tau.data());
  return {batch.matrices(), info.to_host(), ipiv.to_host(), tau.to_host()};
}

/// Elements n k..n k + n - 1 of one are elements n l..n l + n - 1 of the other, bit for bit.
template <class V>
bool same_part(const std::vector<V>& one, std::size_t k, const std::vector<V>& other, std::size_t l, index_t n) {
  const auto size = static_cast<std::size_t>(n);
  return std::memcmp(&one[k * size], &other[l * size], size * sizeof(V)) == 0;
}

/// `regular` matrices get the same bits alone and with a `troubled` one between any two of them.
template <Scalar T, class Call>
void expect_undisturbed(const Backend& backend, const std::vector<Dense<T>>& regular,
                        const std::vector<Dense<T>>& troubled, Call call, bool many = false) {
  std::vector<Dense<T>> mixed{regular[0]};
  for (std::size_t k = 0; k < troubled.size(); ++k) {
    mixed.push_back(troubled[k]);
    mixed.push_back(regular[k + 1]);
  }
  const auto n = static_cast<index_t>(regular[0].rows());
  const Outputs<T> expected = outputs_of(backend, regular, call, many), found = outputs_of(backend, mixed, call, many);
  for (std::size_t k = 0; k < regular.size(); ++k) {
    EXPECT_EQ(found.info[2 * k], 0);
    EXPECT_TRUE(same_bits(found.matrices[2 * k], expected.matrices[k])) << "matrix " << k << " of order " << n;
    EXPECT_TRUE(same_part(found.ipiv, 2 * k, expected.ipiv, k, n)) << "matrix " << k << " of order " << n;
    EXPECT_TRUE(same_part(found.tau, 2 * k, expected.tau, k, n)) << "matrix " << k << " of order " << n;
  }
  for (std::size_t k = 0; k < troubled.size(); ++k)
    if (!troubled[k].allFinite()) {
      EXPECT_FALSE(found.matrices[2 * k + 1].allFinite()) << "matrix " << k << " of order " << n;
    }
}

/// `a` with `value` at (i, j) and (j, i).
template <Scalar T>
Dense<T> with_value(Dense<T> a, index_t i, index_t j, real_t<T> value) {
  a(i, j) = a(j, i) = T(value);
  return a;
}

template <Scalar T>
std::vector<Dense<T>> non_finite(const Dense<T>& a) {
  using Limits = std::numeric_limits<real_t<T>>;
  const auto n = static_cast<index_t>(a.rows());
  return {with_value(a, n / 2, n - 1, Limits::quiet_NaN()), with_value(a, 0, 0, Limits::infinity()),
          with_value(a, n - 1, n / 3, -Limits::infinity()), with_value(a, n - 1, n - 1, Limits::quiet_NaN())};
}

template <Scalar T, class Call>
void expect_general_undisturbed(const Backend& backend, Call call, bool many = false) {
  Random random(501);
  for (const index_t n : thread_block_orders) {
    std::vector<Dense<T>> troubled = non_finite(random_dense<T>(n, random));
    troubled.push_back(Dense<T>::Zero(n, n));
    troubled.push_back(random_dense<T>(n, random));
    troubled.back().col(n / 2).setZero();
    std::vector<Dense<T>> regular;
    for (std::size_t k = 0; k <= troubled.size(); ++k) regular.push_back(random_dense<T>(n, random));
    expect_undisturbed(backend, regular, troubled, call, many);
  }
}

TYPED_TEST(BatchedOnBackend, LuOfLargeMatricesBesideSingularOnesAndNan) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  expect_general_undisturbed<T>(
      backend, [&](const auto& a, int* info, index_t* ipiv, T*) { batched::getrf(backend, a, ipiv, info); });
}

TYPED_TEST(BatchedOnBackend, InversesOfLargeMatricesBesideSingularOnesAndNan) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  expect_general_undisturbed<T>(backend,
                                [&](const auto& a, int* info, index_t*, T*) { batched::inverse(backend, a, a, info); });
  expect_general_undisturbed<T>(backend, [&](const auto& a, int* info, index_t* ipiv, T*) {
    batched::getrf(backend, a, ipiv, info);
    batched::getri(backend, a, ipiv, a, info);
  });
}

/// Also where on CUDA several thread blocks have one of few.
TYPED_TEST(BatchedOnBackend, InversesAmongManyBesideSingularOnesAndNan) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  expect_general_undisturbed<T>(
      backend, [&](const auto& a, int* info, index_t*, T*) { batched::inverse(backend, a, a, info); }, true);
}

TYPED_TEST(BatchedOnBackend, QrOfLargeMatricesBesideSingularOnesAndNan) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  expect_general_undisturbed<T>(backend,
                                [&](const auto& a, int*, index_t*, T* tau) { batched::geqrf(backend, a, tau); });
}

/// Hermitian, with a diagonal that dominates.
template <Scalar T>
Dense<T> dominant_matrix(index_t n, Random& random) {
  Dense<T> a = uniform_random<T>(n, n, random);
  a = (a + a.adjoint()).eval();
  a.diagonal().array() += T(static_cast<real_t<T>>(4 * n));
  return a;
}

TYPED_TEST(BatchedOnBackend, CholeskyOfLargeMatricesBesideIndefiniteOnesAndNan) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(502);
  for (const index_t n : thread_block_orders)
    for (const batched::Triangle triangle : {batched::Triangle::lower, batched::Triangle::upper}) {
      std::vector<Dense<T>> troubled = non_finite(dominant_matrix<T>(n, random));
      troubled.push_back(with_value(dominant_matrix<T>(n, random), n / 2, n / 2, real_t<T>(-1)));
      troubled.push_back(Dense<T>::Zero(n, n));
      std::vector<Dense<T>> regular;
      for (std::size_t k = 0; k <= troubled.size(); ++k) regular.push_back(dominant_matrix<T>(n, random));
      expect_undisturbed(backend, regular, troubled,
                         [&](const auto& a, int* info, index_t*, T*) { batched::potrf(backend, triangle, a, info); });
    }
}

}  // namespace
}  // namespace blockjacobi::test
