#include "support/batch.hpp"
#include "support/hard_matrices.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

/// ||op(A) X - B|| / (N eps ||A|| ||X||).
template <Scalar T>
double solve_error(batched::Op op, const Dense<T>& a, const Dense<T>& x, const Dense<T>& b) {
  WideDense<T> m = widened(a);
  if (op == batched::Op::transpose) m = m.transpose().eval();
  if (op == batched::Op::conjugate_transpose) m = m.adjoint().eval();
  const WideDense<T> wide_x = widened(x);
  return scaled_error<T>(product(m, wide_x) - widened(b), a.rows(), infinity_norm(m) * infinity_norm(wide_x));
}

TYPED_TEST(BatchedOnBackend, SolvesFromLu) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(108);
  for (const index_t n : all_batched_orders())
    for (const index_t columns : {1, 4, 5}) {
      const auto matrices = hard_matrices<T>(n, random);
      const auto a = without_names(matrices);
      const TestBatch<T> lu(backend, a);
      Array<index_t> ipiv(backend, static_cast<std::size_t>(n) * a.size());
      Array<int> info(backend, a.size());
      batched::getrf(backend, lu.view(), ipiv.data(), info.data());
      for (const auto op : {batched::Op::none, batched::Op::transpose, batched::Op::conjugate_transpose}) {
        std::vector<Dense<T>> right;
        for (std::size_t k = 0; k < a.size(); ++k) right.push_back(uniform_random<T>(n, columns, random));
        const TestBatch<T> b(backend, right, {.padding = 2});
        batched::getrs(backend, op, lu.view(), ipiv.data(), b.view());
        EXPECT_TRUE(b.padding_untouched());
        const auto x = b.matrices();
        for (std::size_t k = 0; k < a.size(); ++k) {
          if (matrices[k].name == "growth") continue;  // partial pivoting does not help it
          EXPECT_LE(solve_error(op, a[k], x[k], right[k]), accuracy)
              << matrices[k].name << ", order " << n << ", op " << static_cast<int>(op);
        }
      }
    }
}

/// Of random matrices, for every op.
template <Scalar T>
void expect_solves(const Backend& backend, index_t n, index_t columns, std::size_t count, Random& random) {
  std::vector<Dense<T>> a, right;
  for (std::size_t k = 0; k < count; ++k) {
    a.push_back(random_dense<T>(n, random));
    right.push_back(uniform_random<T>(n, columns, random));
  }
  const TestBatch<T> lu(backend, a, {.padding = 1});
  Array<index_t> ipiv(backend, static_cast<std::size_t>(n) * count);
  Array<int> info(backend, count);
  batched::getrf(backend, lu.view(), ipiv.data(), info.data());
  for (const auto op : {batched::Op::none, batched::Op::transpose, batched::Op::conjugate_transpose}) {
    const TestBatch<T> b(backend, right, {.padding = 3, .pointers = true});
    batched::getrs(backend, op, lu.view(), ipiv.data(), b.view());
    EXPECT_TRUE(b.padding_untouched());
    const auto x = b.matrices();
    for (std::size_t k = 0; k < count; ++k)
      EXPECT_LE(solve_error(op, a[k], x[k], right[k]), accuracy)
          << "order " << n << ", " << columns << " right-hand sides, op " << static_cast<int>(op);
  }
}

TYPED_TEST(BatchedOnBackend, SolvesManyRightHandSidesFromLu) {
  Random random(110);
  for (const index_t n : large_orders)
    for (const index_t columns : {1, 40})
      expect_solves<typename TypeParam::Scalar>(this->make_backend(), n, columns, 2, random);
}

TYPED_TEST(BatchedOnBackend, SolvesFewRightHandSidesFromLu) {
  Random random(113);
  for (const index_t n : large_orders)
    for (const index_t columns : {2, 3})
      expect_solves<typename TypeParam::Scalar>(this->make_backend(), n, columns, 1, random);
}

/// Up to 4 right-hand sides CUDA has other kernels.
TYPED_TEST(BatchedOnBackend, SolvesAboveOrder32FromLu) {
  Random random(111);
  for (const index_t columns : {1, 3, 5, 35, 70})
    expect_solves<typename TypeParam::Scalar>(this->make_backend(), 77, columns, 2, random);
}

/// From 385 on CUDA has other kernels.
TYPED_TEST(BatchedOnBackend, SolveOfALargeMatrixFromLu) {
  Random random(112);
  for (const index_t columns : {1, 5})
    expect_solves<typename TypeParam::Scalar>(this->make_backend(), 420, columns, 1, random);
}

TYPED_TEST(BatchedOnBackend, SolvesFromASingularLu) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t n : {6, 45, 101})
    for (const index_t columns : {1, 4, 5}) {
      Dense<T> singular = Dense<T>::Identity(n, n);
      singular(3, 3) = T(0);
      const TestBatch<T> lu(backend, {Dense<T>::Identity(n, n), singular});
      std::vector<index_t> places;
      for (int k = 0; k < 2; ++k)
        for (index_t i = 1; i <= n; ++i) places.push_back(i);
      const Array<index_t> ipiv(backend, places);
      const Dense<T> ones = Dense<T>::Ones(n, columns);
      for (const auto op : {batched::Op::none, batched::Op::transpose, batched::Op::conjugate_transpose}) {
        const TestBatch<T> b(backend, {ones, ones});
        batched::getrs(backend, op, lu.view(), ipiv.data(), b.view());
        const auto x = b.matrices();
        EXPECT_EQ(x[0], ones);
        for (index_t j = 0; j < columns; ++j) EXPECT_FALSE(std::isfinite(std::abs(x[1](3, j)))) << "order " << n;
      }
    }
}

/// With an order each, only the first rows of a right-hand side take part.
template <Scalar T>
void expect_solves_of_mixed_order(const Backend& backend, const std::vector<index_t>& bounds, index_t columns) {
  Random random(109);
  for (const index_t largest : bounds)
    for (const auto op : {batched::Op::none, batched::Op::transpose, batched::Op::conjugate_transpose}) {
      std::vector<Dense<T>> a, right;
      for (const index_t n : {3, 17, 0, 1, largest, 8, std::min(largest, 33)}) {
        a.push_back(random_dense<T>(n, random));
        right.push_back(uniform_random<T>(largest, columns, random));
      }
      const TestBatch<T> lu(backend, a, {.padding = 1, .pointers = true, .orders = true});
      Array<index_t> ipiv(backend, static_cast<std::size_t>(largest) * a.size());
      Array<int> info(backend, a.size());
      batched::getrf(backend, lu.view(), ipiv.data(), info.data());
      const TestBatch<T> b(backend, right);
      batched::getrs(backend, op, lu.view(), ipiv.data(), b.view());
      const auto x = b.matrices();
      for (std::size_t k = 0; k < a.size(); ++k) {
        const auto n = a[k].rows();
        EXPECT_TRUE(same_bits<T>(x[k].bottomRows(largest - n), right[k].bottomRows(largest - n)));
        EXPECT_LE(solve_error<T>(op, a[k], x[k].topRows(n), right[k].topRows(n)), accuracy) << "order " << n;
      }
    }
}

TYPED_TEST(BatchedOnBackend, SolvesOfMixedOrder) {
  for (const index_t columns : {1, 2, 6})
    expect_solves_of_mixed_order<typename TypeParam::Scalar>(this->make_backend(), {32, 70}, columns);
}

TYPED_TEST(BatchedOnBackend, SolvesOfMixedLargeOrder) {
  for (const index_t columns : {1, 6})
    expect_solves_of_mixed_order<typename TypeParam::Scalar>(this->make_backend(), {200, 420}, columns);
}

}  // namespace
}  // namespace blockjacobi::test
