#include "backends/batched_cholesky.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

/// ||A X - B|| / (N eps ||A|| ||X||).
template <Scalar T>
double solve_error(const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
  const WideDense<T> wide_a = widened(a), wide_x = widened(x);
  return scaled_error<T>(product(wide_a, wide_x) - widened(b), a.rows(), infinity_norm(wide_a) * infinity_norm(wide_x));
}

/// The solutions of A X = B by the factors of `a`, which are left in its place. Expects that nothing between the
/// solutions changes.
template <Scalar T>
std::vector<Dense<T>> solved(const Backend& backend, Triangle triangle, const TestBatch<T>& a,
                             const std::vector<Dense<T>>& right) {
  const TestBatch<T> b(backend, right, {.padding = 1});
  Array<int> info(backend, right.size());
  batched::potrf(backend, triangle, a.view(), info.data());
  batched::potrs(backend, triangle, a.view(), b.view());
  EXPECT_TRUE(b.padding_untouched());
  return b.matrices();
}

template <Scalar T>
void expect_solves(const Backend& backend, index_t n, index_t columns, Random& random) {
  for (const Triangle triangle : triangles) {
    const auto matrices = spd_matrices<T>(n, random);
    const TestBatch<T> a(backend, only_triangles(triangle, matrices));
    std::vector<Dense<T>> right;
    for (std::size_t k = 0; k < matrices.size(); ++k) right.push_back(uniform_random<T>(n, columns, random));
    const auto x = solved(backend, triangle, a, right);
    for (std::size_t k = 0; k < matrices.size(); ++k)
      EXPECT_LE(solve_error(matrices[k].matrix, x[k], right[k]), accuracy) << matrices[k].name << ", order " << n;
  }
}

TYPED_TEST(BatchedOnBackend, SolvesFromCholesky) {
  Random random(206);
  for (const index_t n : all_batched_orders())
    for (const index_t columns : {1, 4, 5})
      expect_solves<typename TypeParam::Scalar>(this->make_backend(), n, columns, random);
}

TYPED_TEST(BatchedOnBackend, SolvesAboveOrder32FromCholesky) {
  Random random(209);
  for (const index_t columns : {1, 2, 3, 6, 70})
    expect_solves<typename TypeParam::Scalar>(this->make_backend(), 45, columns, random);
}

TYPED_TEST(BatchedOnBackend, SolvesManyRightHandSidesFromCholesky) {
  Random random(207);
  for (const index_t n : large_orders) expect_solves<typename TypeParam::Scalar>(this->make_backend(), n, 37, random);
}

TYPED_TEST(BatchedOnBackend, SolvesFromCholeskyOfMixedOrder) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(208);
  for (const Triangle triangle : triangles)
    for (const index_t columns : {1, 2, 20}) {
      std::vector<NamedMatrix<T>> matrices;
      std::vector<Dense<T>> right;
      for (const index_t n : {5, 33, 70, 1, 32}) {
        matrices.push_back(spd_matrices<T>(n, random)[0]);
        right.push_back(uniform_random<T>(70, columns, random));
      }
      const TestBatch<T> a(backend, only_triangles(triangle, matrices), {.orders = true});
      const auto x = solved(backend, triangle, a, right);
      for (std::size_t k = 0; k < matrices.size(); ++k) {
        const auto& matrix = matrices[k].matrix;
        const auto n = matrix.rows();
        EXPECT_TRUE(same_bits<T>(x[k].bottomRows(70 - n), right[k].bottomRows(70 - n)));
        EXPECT_LE(solve_error<T>(matrix, x[k].topRows(n), right[k].topRows(n)), accuracy) << "order " << n;
      }
    }
}

}  // namespace
}  // namespace blockjacobi::test
