#include <blockjacobi/adapters/eigen.hpp>
#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <complex>

namespace blockjacobi::test {
namespace {

template <class T, int Order = Eigen::RowMajor>
using Sparse = Eigen::SparseMatrix<T, Order, int>;

/// Two unknowns a node of a k x k grid, coupled within the node, Dirichlet boundary; `wind` makes it unsymmetric.
template <class T, int Order = Eigen::RowMajor>
Sparse<T, Order> grid_matrix(int k, real_t<T> wind = 0) {
  std::vector<Eigen::Triplet<T>> entries;
  const auto node = [k](int i, int j) { return 2 * (i * k + j); };
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < k; ++j)
      for (int c = 0; c < 2; ++c) {
        const int row = node(i, j) + c;
        entries.emplace_back(row, row, T(real_t<T>(5 + c)));
        entries.emplace_back(row, node(i, j) + 1 - c, T(real_t<T>(-0.9)));
        if (i > 0) entries.emplace_back(row, node(i - 1, j) + c, T(-1 - wind));
        if (i + 1 < k) entries.emplace_back(row, node(i + 1, j) + c, T(-1 + wind));
        if (j > 0) entries.emplace_back(row, node(i, j - 1) + c, T(-1));
        if (j + 1 < k) entries.emplace_back(row, node(i, j + 1) + c, T(-1));
      }
  Sparse<T, Order> matrix(2 * k * k, 2 * k * k);
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

template <class T>
Eigen::Matrix<T, Eigen::Dynamic, 1> right_hand_side(Eigen::Index n) {
  Eigen::Matrix<T, Eigen::Dynamic, 1> b(n);
  for (Eigen::Index i = 0; i < n; ++i) b[i] = T(real_t<T>(1 + i % 7) / real_t<T>(7));
  return b;
}

template <class T>
class EigenAdapter : public ::testing::Test {};
#if defined(__SANITIZE_ADDRESS__)
// Eigen loads complex<float> as double, which UndefinedBehaviorSanitizer reports as misaligned.
using Scalars = ::testing::Types<float, double, std::complex<double>>;
#else
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
#endif
TYPED_TEST_SUITE(EigenAdapter, Scalars);

TYPED_TEST(EigenAdapter, ViewsTheArraysInPlace) {
  const Sparse<TypeParam> rows = grid_matrix<TypeParam>(5, real_t<TypeParam>(0.25));
  const auto view = csr_view(rows);
  EXPECT_EQ(view.rows, rows.rows());
  EXPECT_EQ(view.nnz, rows.nonZeros());
  EXPECT_EQ(view.row_offsets, rows.outerIndexPtr());
  EXPECT_EQ(view.columns, rows.innerIndexPtr());
  EXPECT_EQ(view.values, rows.valuePtr());

  const Sparse<TypeParam, Eigen::ColMajor> columns = grid_matrix<TypeParam, Eigen::ColMajor>(5);
  const auto symmetric = symmetric_csr_view(columns);
  EXPECT_EQ(symmetric.values, columns.valuePtr());
  EXPECT_EQ(symmetric.nnz, columns.nonZeros());

  Sparse<TypeParam> loose = rows;
  loose.uncompress();
  EXPECT_THROW(static_cast<void>(csr_view(loose)), InvalidArgument);
  Sparse<TypeParam, Eigen::ColMajor> loose_columns = columns;
  loose_columns.uncompress();
  EXPECT_THROW(static_cast<void>(symmetric_csr_view(loose_columns)), InvalidArgument);
}

TYPED_TEST(EigenAdapter, ConjugateGradientNeedsAsManyIterationsAsOurs) {
  using T = TypeParam;
  const Sparse<T> matrix = grid_matrix<T>(20);
  const auto b = right_hand_side<T>(matrix.rows());
  const double rtol = sizeof(real_t<T>) == 4 ? 1e-4 : 1e-8;

  Eigen::ConjugateGradient<Sparse<T>, Eigen::Lower | Eigen::Upper, EigenBlockJacobi<T>> solver;
  solver.setTolerance(static_cast<real_t<T>>(rtol));
  solver.preconditioner().setMaxBlockSize(8);
  solver.compute(matrix);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> x = solver.solve(b);
  ASSERT_EQ(solver.info(), Eigen::Success);
  EXPECT_LE((matrix * x - b).norm(), 2 * rtol * b.norm());

  const Backend backend = Backend::host();
  const LinearOperator<T> A(backend, csr_view(matrix));
  const BlockJacobi<T> M(backend, csr_view(matrix), BlockPartition::detect(csr_view(matrix), 8));
  const Array<T> right(backend, std::vector<T>(b.begin(), b.end()));
  Array<T> ours(backend, right.size());
  ours.zero();
  SolveOptions options;
  options.rtol = rtol;
  const SolveReport report = cg(A, M, right.view(), ours.view(), options);
  EXPECT_TRUE(report.converged());
  EXPECT_NEAR(static_cast<double>(solver.iterations()), static_cast<double>(report.iterations), 1.0);
  EXPECT_EQ(solver.preconditioner().get()->partition().blocks(), M.partition().blocks());
}

TYPED_TEST(EigenAdapter, TakesColumnMajorMatricesByTheirRows) {
  using T = TypeParam;
  const real_t<T> wind = real_t<T>(0.5);
  const EigenBlockJacobi<T> by_rows(grid_matrix<T>(12, wind));
  EigenBlockJacobi<T> by_columns;
  by_columns.compute(grid_matrix<T, Eigen::ColMajor>(12, wind));
  const auto b = right_hand_side<T>(by_rows.rows());
  const Eigen::Matrix<T, Eigen::Dynamic, 1> x = by_rows.solve(b), y = by_columns.solve(b);
  EXPECT_TRUE(x == y);

  // Eigen's solvers refer to the matrix.
  const Sparse<T, Eigen::ColMajor> matrix = grid_matrix<T, Eigen::ColMajor>(12, wind);
  Eigen::BiCGSTAB<Sparse<T, Eigen::ColMajor>, EigenBlockJacobi<T>> solver(matrix);
  solver.setTolerance(sizeof(real_t<T>) == 4 ? real_t<T>(1e-4) : real_t<T>(1e-10));
  const Eigen::Matrix<T, Eigen::Dynamic, 1> solution = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::Success);
  EXPECT_LE((matrix * solution - b).norm(), (sizeof(real_t<T>) == 4 ? 1e-3 : 1e-9) * b.norm());
}

TYPED_TEST(EigenAdapter, SolvesManyColumnsAndStridedOnes) {
  using T = TypeParam;
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const EigenBlockJacobi<T> preconditioner(grid_matrix<T>(6));
  Dense b(preconditioner.rows(), 3);
  for (Eigen::Index j = 0; j < 3; ++j) b.col(j) = right_hand_side<T>(b.rows()) * T(real_t<T>(j + 1));
  const Dense x = preconditioner.solve(b);
  for (Eigen::Index j = 0; j < 3; ++j) {
    const Eigen::Matrix<T, Eigen::Dynamic, 1> one = preconditioner.solve(right_hand_side<T>(b.rows()));
    EXPECT_LE((x.col(j) - one * T(real_t<T>(j + 1))).norm(), 1e-5 * one.norm());
  }
}

TYPED_TEST(EigenAdapter, FactorizeTakesNewValuesOfTheSamePattern) {
  using T = TypeParam;
  Sparse<T> matrix = grid_matrix<T>(8);
  EigenBlockJacobi<T> preconditioner(matrix);
  const BlockJacobi<T>* const first = preconditioner.get();
  const auto b = right_hand_side<T>(matrix.rows());
  const Eigen::Matrix<T, Eigen::Dynamic, 1> before = preconditioner.solve(b);
  matrix *= T(2);
  preconditioner.factorize(matrix);
  EXPECT_EQ(preconditioner.get(), first);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> after = preconditioner.solve(b);
  EXPECT_LE((before - after * T(2)).norm(), 1e-5 * before.norm());

  // Another pattern: everything anew.
  const Sparse<T> larger = grid_matrix<T>(9);
  preconditioner.compute(larger);
  EXPECT_EQ(preconditioner.rows(), larger.rows());
}

TYPED_TEST(EigenAdapter, SingularBlocksAreANumericalIssueUnlessReplaced) {
  using T = TypeParam;
  Sparse<T> matrix(4, 4);
  matrix.setIdentity();
  matrix.coeffRef(2, 2) = T(0);
  EigenBlockJacobi<T> preconditioner;
  preconditioner.setPartition(BlockPartition::uniform(4, 2)).compute(matrix);
  EXPECT_EQ(preconditioner.info(), Eigen::NumericalIssue);
  EXPECT_EQ(preconditioner.get(), nullptr);

  preconditioner.setOptions({.singular = SingularPolicy::scalar_jacobi}).compute(matrix);
  EXPECT_EQ(preconditioner.info(), Eigen::Success);
  EXPECT_EQ(preconditioner.get()->report().singular_blocks, 1);

  // After a refresh too.
  preconditioner.setOptions({.singular = SingularPolicy::fail});
  matrix.coeffRef(2, 2) = T(1);
  preconditioner.compute(matrix);
  EXPECT_EQ(preconditioner.info(), Eigen::Success);
  matrix.coeffRef(2, 2) = T(0);
  preconditioner.factorize(matrix);
  EXPECT_EQ(preconditioner.info(), Eigen::NumericalIssue);

  EXPECT_THROW(preconditioner.setPartition(BlockPartition::uniform(6, 2)).compute(matrix), InvalidArgument);
  EigenBlockJacobi<T> too_large;
  EXPECT_THROW(too_large.setMaxBlockSize(max_block_size + 1).compute(matrix), InvalidArgument);
}

}  // namespace
}  // namespace blockjacobi::test
