#include "support/batch.hpp"
#include "support/hard_matrices.hpp"

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
  return scaled_error<T>(m * wide_x - widened(b), a.rows(), infinity_norm(m) * infinity_norm(wide_x));
}

TYPED_TEST(BatchedOnBackend, SolvesFromLu) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(108);
  for (const index_t n : batched_orders<TypeParam>())
    for (const index_t columns : {1, 5}) {
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

/// With an order each, only the first rows of a right-hand side take part.
TYPED_TEST(BatchedOnBackend, SmallSolvesOfMixedOrder) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(109);
  std::vector<Dense<T>> a, right;
  for (const index_t n : {3, 17, 0, 1, 32, 8}) {
    a.push_back(random_dense<T>(n, random));
    right.push_back(uniform_random<T>(32, 2, random));
  }
  const TestBatch<T> lu(backend, a, {.padding = 1, .pointers = true, .orders = true});
  Array<index_t> ipiv(backend, 32 * a.size());
  Array<int> info(backend, a.size());
  batched::getrf(backend, lu.view(), ipiv.data(), info.data());
  const TestBatch<T> b(backend, right);
  batched::getrs(backend, batched::Op::transpose, lu.view(), ipiv.data(), b.view());
  const auto x = b.matrices();
  for (std::size_t k = 0; k < a.size(); ++k) {
    const auto n = a[k].rows();
    EXPECT_TRUE(same_bits<T>(x[k].bottomRows(32 - n), right[k].bottomRows(32 - n)));
    EXPECT_LE(solve_error<T>(batched::Op::transpose, a[k], x[k].topRows(n), right[k].topRows(n)), accuracy);
  }
}

}  // namespace
}  // namespace blockjacobi::test
