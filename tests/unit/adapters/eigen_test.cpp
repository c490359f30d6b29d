#include <blockjacobi/adapters/eigen.hpp>

#include "support/backends.hpp"
#include "support/messages.hpp"

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

template <class Case>
class EigenAdapterOnBackend : public BackendTest<Case> {
 protected:
  using Value = typename Case::Scalar;
  using Vector = Eigen::Matrix<Value, Eigen::Dynamic, 1>;

  template <class Matrix>
  static EigenBlockJacobi<Value> preconditioner_of(const Matrix& matrix) {
    EigenBlockJacobi<Value> preconditioner;
    preconditioner.setBackend(BackendTest<Case>::make_backend()).compute(matrix);
    return preconditioner;
  }
  static Vector solved(const EigenBlockJacobi<Value>& preconditioner, const Vector& b) {
    return preconditioner.solve(b);
  }
};
TYPED_TEST_SUITE(EigenAdapterOnBackend, BackendCases, BackendCaseName);

/// Several right-hand sides in a matrix of Eigen's, of either order and as a block of a larger one.
TYPED_TEST(EigenAdapterOnBackend, SolvesForTheColumnsOfAMatrix) {
  using T = typename TypeParam::Scalar;
  using ByColumns = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using ByRows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Backend backend = this->make_backend();
  const Sparse<T> a = grid_matrix<T>(9);
  const LinearOperator<T> A(backend, csr_view(a));
  const BlockJacobi<T> M(backend, csr_view(a), BlockPartition::uniform(static_cast<index_t>(a.rows()), 6));
  SolveOptions options;
  options.rtol = sizeof(real_t<T>) == sizeof(float) ? 1e-5 : 1e-10;
  const auto expect_solved = [&](const auto& B, auto& X) {
    X.setZero();
    const std::vector<SolveReport> reports = cg_columns(A, M, columns_view(B), columns_view(X), options);
    ASSERT_EQ(static_cast<Eigen::Index>(reports.size()), B.cols());
    for (Eigen::Index c = 0; c < B.cols(); ++c) {
      EXPECT_TRUE(reports[static_cast<std::size_t>(c)].converged());
      EXPECT_LE((B.col(c) - a * X.col(c)).norm(), 2 * options.rtol * B.col(c).norm());
    }
  };
  const ByColumns b = ByColumns::Random(a.rows(), 5);
  ByColumns x(a.rows(), 5);
  expect_solved(b, x);
  const ByRows b_rows = b;
  ByRows x_rows(a.rows(), 5);
  expect_solved(b_rows, x_rows);
  EXPECT_LE((x - x_rows).norm(), real_t<T>(10 * options.rtol) * x.norm());
  ByColumns larger(a.rows() + 3, 7);
  auto part = larger.block(2, 1, a.rows(), 5);
  expect_solved(b, part);
}

TEST(EigenAdapter, RefusesColumnsThatAreNotContiguous) {
  Eigen::MatrixXd matrix(6, 4);
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::Stride<Eigen::Dynamic, 2>> every_second(matrix.data(), 3, 4,
                                                                                Eigen::Stride<Eigen::Dynamic, 2>(6, 2));
  EXPECT_EQ(message_of([&] { (void)columns_view(every_second); }),
            "columns_view: elements of the Eigen matrix are 2 apart, must be contiguous");
  const Eigen::MatrixXd& constant = matrix;
  static_assert(std::is_same_v<decltype(columns_view(constant)), MultiVectorView<const double>>);
  EXPECT_EQ(columns_view(constant).data, matrix.data());
}

TEST(EigenAdapter, ViewsTheArraysInPlace) {
  const Sparse<double> rows = grid_matrix<double>(5, 0.25);
  const auto view = csr_view(rows);
  EXPECT_EQ(view.rows, rows.rows());
  EXPECT_EQ(view.nnz, rows.nonZeros());
  EXPECT_EQ(view.row_offsets, rows.outerIndexPtr());
  EXPECT_EQ(view.columns, rows.innerIndexPtr());
  EXPECT_EQ(view.values, rows.valuePtr());

  const Sparse<double, Eigen::ColMajor> columns = grid_matrix<double, Eigen::ColMajor>(5);
  const auto symmetric = symmetric_csr_view(columns);
  EXPECT_EQ(symmetric.values, columns.valuePtr());
  EXPECT_EQ(symmetric.nnz, columns.nonZeros());

  Sparse<double> loose = rows;
  loose.uncompress();
  EXPECT_EQ(message_of([&] { static_cast<void>(csr_view(loose)); }),
            "csr_view: the Eigen matrix of 50 x 50 is not compressed");
  Sparse<double, Eigen::ColMajor> loose_columns = columns;
  loose_columns.uncompress();
  EXPECT_EQ(message_of([&] { static_cast<void>(symmetric_csr_view(loose_columns)); }),
            "symmetric_csr_view: the Eigen matrix of 50 x 50 is not compressed");

  // The views of a rectangle, whose columns are the rows of its transpose.
  Sparse<double> rectangle(2, 5);
  rectangle.insert(1, 4) = 3;
  rectangle.makeCompressed();
  EXPECT_EQ(csr_view(rectangle).rows, 2);
  EXPECT_EQ(csr_view(rectangle).cols, 5);
  const Sparse<double, Eigen::ColMajor> by_columns = rectangle;
  EXPECT_EQ(symmetric_csr_view(by_columns).rows, 5);
  EXPECT_EQ(symmetric_csr_view(by_columns).cols, 2);
}

/// Not of Eigen: counts how often it becomes a row-major matrix.
struct CountedMatrix {
  using Scalar = double;
  using StorageIndex = int;
  enum { IsRowMajor = 0 };
  operator Sparse<double>() const {
    ++copies;
    return grid_matrix<double>(4);
  }
  mutable int copies = 0;
};

TEST(EigenAdapter, ComputeCopiesOnce) {
  const CountedMatrix matrix;
  const EigenBlockJacobi<double> preconditioner(matrix);
  EXPECT_EQ(matrix.copies, 1);
  EXPECT_EQ(preconditioner.info(), Eigen::Success);
  EXPECT_EQ(preconditioner.rows(), 32);
}

TYPED_TEST(EigenAdapterOnBackend, ConjugateGradientNeedsAsManyIterationsAsOurs) {
  using T = typename TypeParam::Scalar;
  const Sparse<T> matrix = grid_matrix<T>(20);
  const auto b = right_hand_side<T>(matrix.rows());
  const double rtol = sizeof(real_t<T>) == 4 ? 1e-4 : 1e-8;

  Eigen::ConjugateGradient<Sparse<T>, Eigen::Lower | Eigen::Upper, EigenBlockJacobi<T>> solver;
  solver.setTolerance(static_cast<real_t<T>>(rtol));
  const Backend backend = this->make_backend();
  solver.preconditioner().setBackend(backend).setMaxBlockSize(8);
  solver.compute(matrix);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> x = solver.solve(b);
  ASSERT_EQ(solver.info(), Eigen::Success);
  EXPECT_LE((matrix * x - b).norm(), 2 * rtol * b.norm());

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

TYPED_TEST(EigenAdapterOnBackend, TakesColumnMajorMatricesByTheirRows) {
  using T = typename TypeParam::Scalar;
  const real_t<T> wind = real_t<T>(0.5);
  const EigenBlockJacobi<T> by_rows = this->preconditioner_of(grid_matrix<T>(12, wind));
  const EigenBlockJacobi<T> by_columns = this->preconditioner_of(grid_matrix<T, Eigen::ColMajor>(12, wind));
  const auto b = right_hand_side<T>(by_rows.rows());
  const Eigen::Matrix<T, Eigen::Dynamic, 1> x = by_rows.solve(b), y = by_columns.solve(b);
  EXPECT_TRUE(x == y);

  // Eigen's solvers refer to the matrix.
  const Sparse<T, Eigen::ColMajor> matrix = grid_matrix<T, Eigen::ColMajor>(12, wind);
  Eigen::BiCGSTAB<Sparse<T, Eigen::ColMajor>, EigenBlockJacobi<T>> solver;
  solver.preconditioner().setBackend(this->make_backend());
  solver.compute(matrix);
  solver.setTolerance(sizeof(real_t<T>) == 4 ? real_t<T>(1e-4) : real_t<T>(1e-10));
  const Eigen::Matrix<T, Eigen::Dynamic, 1> solution = solver.solve(b);
  EXPECT_EQ(solver.info(), Eigen::Success);
  EXPECT_LE((matrix * solution - b).norm(), (sizeof(real_t<T>) == 4 ? 1e-3 : 1e-9) * b.norm());
}

TYPED_TEST(EigenAdapterOnBackend, SolvesManyColumnsAndStridedOnes) {
  using T = typename TypeParam::Scalar;
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const EigenBlockJacobi<T> preconditioner = this->preconditioner_of(grid_matrix<T>(6));
  Dense b(preconditioner.rows(), 3);
  for (Eigen::Index j = 0; j < 3; ++j) b.col(j) = right_hand_side<T>(b.rows()) * T(real_t<T>(j + 1));
  const Dense x = preconditioner.solve(b);
  for (Eigen::Index j = 0; j < 3; ++j) {
    const Eigen::Matrix<T, Eigen::Dynamic, 1> one = preconditioner.solve(right_hand_side<T>(b.rows()));
    EXPECT_LE((x.col(j) - one * T(real_t<T>(j + 1))).norm(), 1e-5 * one.norm());
  }
}

/// In place where the columns of the destination are contiguous, else by a copy; the same bits everywhere.
TYPED_TEST(EigenAdapterOnBackend, SolvesIntoEveryKindOfDestination) {
  using T = typename TypeParam::Scalar;
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  const EigenBlockJacobi<T> preconditioner = this->preconditioner_of(grid_matrix<T>(6));
  const auto n = preconditioner.rows();
  Dense b(n, 3);
  for (Eigen::Index j = 0; j < 3; ++j) b.col(j) = right_hand_side<T>(n) * T(real_t<T>(j + 1));
  Dense expected(n, 3);
  for (Eigen::Index j = 0; j < 3; ++j) expected.col(j) = this->solved(preconditioner, b.col(j));

  Dense plain(n, 3), wide = Dense::Constant(n + 2, 4, T(-7));
  plain = preconditioner.solve(b);
  EXPECT_TRUE(plain == expected);
  wide.block(1, 1, n, 3) = preconditioner.solve(b);
  EXPECT_TRUE((wide.block(1, 1, n, 3) == expected));
  EXPECT_TRUE((wide.row(0).array() == T(-7)).all() && (wide.row(n + 1).array() == T(-7)).all());
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows(n, 3);
  by_rows = preconditioner.solve(b);
  EXPECT_TRUE(by_rows == expected);
  std::vector<T> every_second(static_cast<std::size_t>(2 * n), T(-7));
  Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>, 0, Eigen::InnerStride<2>> strided(every_second.data(), n);
  strided = preconditioner.solve(b.col(1));
  EXPECT_TRUE(strided == expected.col(1));
  EXPECT_EQ(every_second[1], T(-7));

  Dense in_place = b;
  in_place = preconditioner.solve(in_place);
  EXPECT_TRUE(in_place == expected) << "the right-hand side is the destination";
  Eigen::Matrix<T, Eigen::Dynamic, 1> shifted(n + 1);
  shifted.tail(n) = b.col(2);
  shifted.head(n) = preconditioner.solve(shifted.tail(n));
  EXPECT_TRUE(shifted.head(n) == expected.col(2)) << "the two overlap";
}

TYPED_TEST(EigenAdapterOnBackend, FactorizeTakesNewValuesOfTheSamePattern) {
  using T = typename TypeParam::Scalar;
  Sparse<T> matrix = grid_matrix<T>(8);
  EigenBlockJacobi<T> preconditioner = this->preconditioner_of(matrix);
  const BlockJacobi<T>* const first = preconditioner.get();
  const auto b = right_hand_side<T>(matrix.rows());
  const Eigen::Matrix<T, Eigen::Dynamic, 1> before = preconditioner.solve(b);
  matrix *= T(2);
  preconditioner.factorize(matrix);
  EXPECT_EQ(preconditioner.get(), first);
  const Eigen::Matrix<T, Eigen::Dynamic, 1> after = preconditioner.solve(b);
  EXPECT_LE((before - after * T(2)).norm(), 1e-5 * before.norm());
  matrix *= T(real_t<T>(0.5));
  preconditioner.factorize(matrix);
  EXPECT_TRUE(this->solved(preconditioner, b) == before) << "the same values, the same bits";

  // Another pattern: everything anew.
  const Sparse<T> larger = grid_matrix<T>(9);
  preconditioner.compute(larger);
  EXPECT_EQ(preconditioner.rows(), larger.rows());
  EXPECT_TRUE(this->solved(preconditioner, right_hand_side<T>(larger.rows())).allFinite());
}

TYPED_TEST(EigenAdapterOnBackend, FactorizeNoticesOtherColumnsInRowsOfTheSameLength) {
  using T = typename TypeParam::Scalar;
  using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  const auto with_entry_at = [](int column) {
    Sparse<T> matrix(4, 4);
    for (int i = 0; i < 4; ++i) matrix.insert(i, i) = T(4);
    matrix.insert(0, column) = T(2);
    matrix.makeCompressed();
    return matrix;
  };
  EigenBlockJacobi<T> preconditioner;
  preconditioner.setBackend(this->make_backend()).setPartition(BlockPartition::uniform(4, 2));
  preconditioner.factorize(with_entry_at(1));
  preconditioner.factorize(with_entry_at(3));
  Column expected(4);
  expected << T(2), T(4), T(6), T(8);
  EXPECT_TRUE(Column(this->solved(preconditioner, Column(T(4) * expected))) == expected)
      << "the entry lies outside of the blocks now";
}

TYPED_TEST(EigenAdapterOnBackend, SettersHoldFromTheNextFactorizeOn) {
  using T = typename TypeParam::Scalar;
  const Sparse<T> matrix = grid_matrix<T>(4);
  const auto b = right_hand_side<T>(matrix.rows());
  EigenBlockJacobi<T> preconditioner;
  preconditioner.setBackend(this->make_backend()).factorize(matrix);
  EXPECT_EQ(preconditioner.info(), Eigen::Success) << "without analyzePattern()";
  const auto blocks = [&] { return preconditioner.get()->partition().blocks(); };
  EXPECT_LT(blocks(), 32);
  preconditioner.setMaxBlockSize(1);
  EXPECT_EQ(preconditioner.get(), nullptr);
  EXPECT_EQ(message_of([&] { static_cast<void>(this->solved(preconditioner, b)); }),
            "EigenBlockJacobi::solve: factorize() did not succeed, or was not called after a change");
  preconditioner.factorize(matrix);
  EXPECT_EQ(blocks(), 32);
  preconditioner.analyzePattern(matrix).setPartition(BlockPartition::uniform(32, 8)).factorize(matrix);
  EXPECT_EQ(blocks(), 4);
  preconditioner.setOptions({.singular = SingularPolicy::identity}).factorize(matrix);
  EXPECT_EQ(blocks(), 4);
  EXPECT_TRUE(this->solved(preconditioner, b).allFinite());
  EXPECT_EQ(message_of([&] { static_cast<void>(this->solved(preconditioner, b.head(31))); }),
            "EigenBlockJacobi::solve: b has 31 rows, the matrix 32");
}

TYPED_TEST(EigenAdapterOnBackend, SolvingAfterAFailureThrows) {
  using T = typename TypeParam::Scalar;
  const Sparse<T> zero(8, 8);
  Eigen::ConjugateGradient<Sparse<T>, Eigen::Lower | Eigen::Upper, EigenBlockJacobi<T>> solver;
  solver.preconditioner().setBackend(this->make_backend());
  solver.compute(zero);
  EXPECT_EQ(solver.preconditioner().info(), Eigen::NumericalIssue);
  EXPECT_THROW(static_cast<void>(this->solved(solver.preconditioner(), right_hand_side<T>(8))), InvalidArgument);
  typename TestFixture::Vector x;
  EXPECT_THROW(x = solver.solve(right_hand_side<T>(8)), InvalidArgument);
}

TYPED_TEST(EigenAdapterOnBackend, SingularBlocksAreANumericalIssueUnlessReplaced) {
  using T = typename TypeParam::Scalar;
  Sparse<T> matrix(4, 4);
  matrix.setIdentity();
  matrix.coeffRef(2, 2) = T(0);
  EigenBlockJacobi<T> preconditioner;
  preconditioner.setBackend(this->make_backend()).setPartition(BlockPartition::uniform(4, 2)).compute(matrix);
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
  ASSERT_NE(preconditioner.get(), nullptr);
  EXPECT_EQ(preconditioner.get()->report().singular_blocks, 1);

  EXPECT_THROW(preconditioner.setPartition(BlockPartition::uniform(6, 2)).compute(matrix), InvalidArgument);
  EigenBlockJacobi<T> too_large;
  EXPECT_THROW(too_large.setMaxBlockSize(max_block_size + 1).compute(matrix), InvalidArgument);
}

}  // namespace
}  // namespace blockjacobi::test
