#include "backend/backend_impl.hpp"
#include "backends/block_jacobi.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(BlockJacobiOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(BlockJacobiOnBackend, NamesSingularBlocks) {
  using T = typename TypeParam::Scalar;
  Random random(7);
  BlockDiagonal<T> a;
  for (const index_t n : {2, 6, 16, 20, 32, 40}) {
    a.blocks.push_back(random_dense<T>(n, random));  // regular neighbours must stay untouched
    Dense<T> zero_column = random_dense<T>(n, random);
    zero_column.col(1).setZero();
    a.blocks.push_back(zero_column);
    a.blocks.push_back(Dense<T>::Zero(n, n));
    Dense<T> rank = random_dense<T>(n, random);
    rank.row(n - 1) = rank.topRows(n - 1).colwise().sum();
    a.blocks.push_back(rank);
  }
  const auto options = with(SingularPolicy::scalar_jacobi);
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), options);
  const std::vector<int> info = m.info();
  const auto rcond = m.rcond();
  const BlockJacobiReport report = m.report();
  EXPECT_EQ(report.singular_blocks, 18);
  EXPECT_EQ(report.non_finite_blocks, 0);
  ASSERT_EQ(report.defects.size(), 18u);
  for (std::size_t b = 0; b < a.blocks.size(); ++b) {
    const auto n = static_cast<int>(a.blocks[b].rows());
    const Dense<T> x = stored_inverse(m, static_cast<index_t>(b));
    if (b % 4 == 0) {
      EXPECT_EQ(info[b], 0);
      EXPECT_LE(inverse_error<T>(a.blocks[b], x), inverse_accuracy);
      continue;
    }
    if (b % 4 == 1) {
      EXPECT_EQ(info[b], 2) << "the second pivot of block " << b << " is the zero column";
    }
    if (b % 4 == 2) {
      EXPECT_EQ(info[b], 1);
    }
    if (b % 4 == 3) {
      EXPECT_TRUE(info[b] == n || info[b] == n + 1) << info[b] << " of " << n;
    }
    if (info[b] <= n) {
      EXPECT_EQ(rcond[b], 0);
    }
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const T d = a.blocks[b](i, i);
        const T expected = i != j ? T(0) : d == T(0) ? T(1) : T(1) / d;
        EXPECT_LE(std::abs(x(i, j) - expected), 4 * std::numeric_limits<real_t<T>>::epsilon() * std::abs(expected))
            << "block " << b << " (" << i << ", " << j << ")";
      }
  }
}

TYPED_TEST(BlockJacobiOnBackend, OutcomesLieInTheMemoryOfTheBackend) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a{{Dense<T>::Identity(4, 4), Dense<T>::Ones(3, 3)}};
  auto m = BlockJacobi<T>::analyze(backend, a.matrix().view(), a.partition(), with(SingularPolicy::identity));
  EXPECT_THROW(static_cast<void>(m.info_view()), InvalidArgument);
  EXPECT_THROW(static_cast<void>(m.rcond_view()), InvalidArgument);
  const CsrMatrix<T> matrix = a.matrix();
  const Array<T> values(backend, {matrix.values().begin(), matrix.values().end()});
  m.refresh(values.data(), matrix.nnz(), backend.memory_space());
  const VectorView<const int> info = m.info_view();
  const VectorView<const real_t<T>> rcond = m.rcond_view();
  EXPECT_EQ(info.space, backend.memory_space());
  EXPECT_EQ(rcond.space, backend.memory_space());
  ASSERT_EQ(info.size, 2);
  ASSERT_EQ(rcond.size, 2);
  std::vector<int> info_copy(2);
  std::vector<real_t<T>> rcond_copy(2);
  backend.impl().copy_to_host(info_copy.data(), info.data, 2 * sizeof(int));
  backend.impl().copy_to_host(rcond_copy.data(), rcond.data, 2 * sizeof(real_t<T>));
  EXPECT_EQ(info_copy, m.info());
  EXPECT_EQ(rcond_copy, m.rcond());
}

TYPED_TEST(BlockJacobiOnBackend, PolicyIdentityStoresIdentity) {
  using T = typename TypeParam::Scalar;
  BlockDiagonal<T> a{{Dense<T>::Constant(3, 3, T(2)), Dense<T>::Constant(1, 1, T(4)), Dense<T>::Ones(35, 35)}};
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with(SingularPolicy::identity));
  EXPECT_EQ(stored_inverse(m, 0), Dense<T>(Dense<T>::Identity(3, 3)));
  EXPECT_EQ(stored_inverse(m, 1)(0, 0), T(0.25));
  EXPECT_EQ(stored_inverse(m, 2), Dense<T>(Dense<T>::Identity(35, 35)));
  EXPECT_EQ(m.info()[0], 2);
}

TYPED_TEST(BlockJacobiOnBackend, PolicyFailThrowsAndNamesTheBlock) {
  using T = typename TypeParam::Scalar;
  BlockDiagonal<T> a{{Dense<T>::Identity(4, 4), Dense<T>::Ones(3, 3), Dense<T>::Zero(2, 2)}};
  try {
    const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition());
    FAIL() << "no exception";
  } catch (const SingularBlock& e) {
    EXPECT_EQ(e.block(), 1);
    EXPECT_EQ(e.first_row(), 4);
    EXPECT_EQ(e.size(), 3);
    EXPECT_EQ(e.info(), 2);
    EXPECT_STREQ(e.what(), "BlockJacobi: block 1 (rows 4..6): pivot 2 is exactly zero (and 1 more block)");
  }
}

TYPED_TEST(BlockJacobiOnBackend, FindsNanAndInf) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  Random random(8);
  BlockDiagonal<T> a;
  for (const index_t n : {4, 32, 50}) {
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks.push_back(random_dense<T>(n, random));
    a.blocks[a.blocks.size() - 2](2, 1) = T(std::numeric_limits<R>::quiet_NaN());
    a.blocks[a.blocks.size() - 2](1, 3) = T(std::numeric_limits<R>::infinity());
    a.blocks[a.blocks.size() - 1](0, 3) = T(-std::numeric_limits<R>::infinity());
  }
  const BlockJacobi<T> m(this->make_backend(), a.matrix(), a.partition(), with(SingularPolicy::scalar_jacobi));
  const std::vector<int> info = m.info();
  const auto rcond = m.rcond();
  for (std::size_t b = 0; b < a.blocks.size(); ++b) {
    const auto n = static_cast<int>(a.blocks[b].rows());
    const Dense<T> x = stored_inverse(m, static_cast<index_t>(b));
    EXPECT_TRUE(x.array().isFinite().all()) << "block " << b;
    if (b % 3 == 0) {
      EXPECT_LE(inverse_error<T>(a.blocks[b], x), inverse_accuracy);
    }
    if (b % 3 == 1) {
      EXPECT_EQ(info[b], -(1 + 2 + 1 * n));
    }
    if (b % 3 == 2) {
      EXPECT_EQ(info[b], -(1 + 0 + 3 * n));
    }
    EXPECT_EQ(std::isnan(rcond[b]), b % 3 != 0);
  }
  const BlockJacobiReport report = m.report();
  EXPECT_EQ(report.non_finite_blocks, 6);
  EXPECT_EQ(describe(report.defects[0]), "block 1 (rows 4..7): element (6, 5) of the matrix is NaN or Inf");
}

}  // namespace
}  // namespace blockjacobi::test
