#include "backends/block_jacobi.hpp"
#include "support/shapes.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BlockJacobiOnBackend, BackendCases, BackendCaseName);
TYPED_TEST_SUITE(BlockJacobiLargeBatch, BackendCases, BackendCaseName);

TYPED_TEST(BlockJacobiOnBackend, InvertsRandomBlocksOfMixedOrder) {
  using T = typename TypeParam::Scalar;
  Random random(1);
  BlockDiagonal<T> a;
  for (int repeat = 0; repeat < 3; ++repeat)
    for (const index_t n : small_orders) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiOnBackend, InvertsBlocksAboveThirtyTwo) {
  using T = typename TypeParam::Scalar;
  Random random(2);
  BlockDiagonal<T> a;
  for (const index_t n : {33, 40, 64, 77, 1, 96}) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiLargeBatch, InvertsEveryLargeOrder) {
  using T = typename TypeParam::Scalar;
  Random random(3);
  BlockDiagonal<T> a;
  for (const index_t n : large_orders) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiOnBackend, InvertsEveryOrderUpToForty) {
  using T = typename TypeParam::Scalar;
  Random random(4);
  BlockDiagonal<T> a;
  for (index_t n = 1; n <= 40; ++n) a.blocks.push_back(random_dense<T>(n, random));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

TYPED_TEST(BlockJacobiOnBackend, PermutationMatricesAreInvertedExactly) {
  using T = typename TypeParam::Scalar;
  BlockDiagonal<T> a;
  for (const index_t n : {2, 5, 17, 32, 50}) {
    Dense<T> p = Dense<T>::Zero(n, n);
    for (index_t i = 0; i < n; ++i) p(i, (i * 3 + 1) % n) = T(1);
    if (n % 3 != 0) a.blocks.push_back(p);
  }
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  for (index_t b = 0; b < m.partition().blocks(); ++b)
    EXPECT_EQ(stored_inverse(m, b), Dense<T>(a.blocks[static_cast<std::size_t>(b)].transpose())) << "block " << b;
}

TYPED_TEST(BlockJacobiOnBackend, InvertsHardMatrices) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  Random random(5);
  BlockDiagonal<T> a;
  for (const index_t n : {3, 8, 13, 24, 32, 45}) {
    Dense<T> triangular = random_dense<T>(n, random);  // permuted triangular: pivoting must find the rows
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < i; ++j) triangular(i, j) = T(0);
      triangular(i, i) += T(2);
    }
    a.blocks.push_back(triangular.colwise().reverse());
    Dense<T> rows = random_dense<T>(n, random), columns = random_dense<T>(n, random);
    for (index_t i = 0; i < n; ++i) {
      const int e = static_cast<int>(i % 5) * 15 - 30;
      rows.row(i) *= std::ldexp(R(1), e);
      columns.col(i) *= std::ldexp(R(1), e);
    }
    a.blocks.push_back(rows);
    a.blocks.push_back(columns);
    if (n > std::numeric_limits<R>::digits) continue;
    Dense<T> growth = Dense<T>::Identity(n, n);  // Wilkinson: elements grow by 2 a step, up to the last bit
    for (index_t i = 0; i < n; ++i) {
      for (index_t j = 0; j < i; ++j) growth(i, j) = T(-1);
      growth(i, n - 1) = T(1);
    }
    a.blocks.push_back(growth);
  }
  for (index_t n = 2; n <= (std::is_same_v<R, double> ? 8 : 4); ++n) {
    Dense<T> hilbert(n, n);
    for (index_t i = 0; i < n; ++i)
      for (index_t j = 0; j < n; ++j) hilbert(i, j) = T(R(1) / static_cast<R>(i + j + 1));
    a.blocks.push_back(hilbert);
  }
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  const std::vector<int> info = m.info();
  for (index_t b = 0; b < m.partition().blocks(); ++b) {
    EXPECT_EQ(info[static_cast<std::size_t>(b)], 0) << "block " << b;
    // graded blocks are judged after equilibration, as the inverse of a graded matrix is graded too
    const Dense<T>& block = a.blocks[static_cast<std::size_t>(b)];
    Dense<T> scaled = block, inverse = stored_inverse(m, b);
    for (index_t i = 0; i < block.rows(); ++i) {
      const R s = R(1) / scaled.row(i).cwiseAbs().maxCoeff();
      scaled.row(i) *= s;
      inverse.col(i) /= s;
    }
    for (index_t j = 0; j < block.cols(); ++j) {
      const R s = R(1) / scaled.col(j).cwiseAbs().maxCoeff();
      scaled.col(j) *= s;
      inverse.row(j) /= s;
    }
    EXPECT_LE(inverse_error<T>(scaled, inverse), inverse_accuracy) << "block " << b << " of order " << block.rows();
  }
}

TYPED_TEST(BlockJacobiOnBackend, InvertsWhollyScaledMatrices) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const int exponent = std::is_same_v<R, double> ? 498 : 60;  // 1e+-150, 1e+-18
  Random random(6);
  BlockDiagonal<T> a;
  for (const index_t n : {1, 4, 11, 32, 47})
    for (const int e : {-exponent, exponent}) a.blocks.push_back(random_dense<T>(n, random) * std::ldexp(R(1), e));
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
  expect_accurate(m, a);
}

/// `corner` in the upper left of the identity of order n.
template <Scalar T>
Dense<T> embedded(const Dense<T>& corner, index_t n) {
  Dense<T> a = Dense<T>::Identity(n, n);
  a.topLeftCorner(2, 2) = corner;
  return a;
}

/// Blocks that are regular after equilibration, though products of their elements and scales leave the range. All
/// numbers are powers of two, so the inverses are exact.
TYPED_TEST(BlockJacobiOnBackend, ScalesNearTheEndsOfTheRange) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  constexpr int top = std::numeric_limits<R>::max_exponent;
  const auto power = [](int e) { return T(std::ldexp(R(1), e)); };
  struct Case {
    Dense<T> a, inverse;
  };
  std::vector<Case> cases(2, {Dense<T>(2, 2), Dense<T>(2, 2)});
  const int huge = top - 4, large = top - top / 8;
  cases[0].a << power(large), power(huge), T(0), T(1);
  cases[0].inverse << power(-large), -power(huge - large), T(0), T(1);
  const int up = top * 5 / 8;  // the second column is as far below the first as cannot be represented
  cases[1].a << power(up), power(-up), power(up), power(1 - up);
  cases[1].inverse << power(1 - up), -power(-up), -power(up), power(up);
  if constexpr (is_complex<T>) {  // |Re| + |Im| overflows
    cases.push_back({Dense<T>::Identity(2, 2), Dense<T>::Identity(2, 2)});
    cases[2].a(0, 0) = power(top - 1) * T(1, 1);
    cases[2].inverse(0, 0) = power(-top) * T(1, -1);
  }
  for (const index_t n : {2, 3, 8, 32, 40}) {
    BlockDiagonal<T> a;
    for (const Case& c : cases) a.blocks.push_back(embedded<T>(c.a, n));
    const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with(SingularPolicy::identity));
    EXPECT_EQ(m.info(), std::vector<int>(cases.size(), 0)) << "order " << n;
    for (std::size_t b = 0; b < cases.size(); ++b)
      EXPECT_TRUE(stored_inverse(m, static_cast<index_t>(b)) == embedded<T>(cases[b].inverse, n))
          << "order " << n << ", case " << b;
  }
}

}  // namespace
}  // namespace blockjacobi::test
