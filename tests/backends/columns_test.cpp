#include "backends/columns.hpp"
#include "matrices/generators/stencil.hpp"
#include "support/bits.hpp"

// Several right-hand sides at once: each column as if it were alone.

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(ColumnsOnBackend, BackendCases, BackendCaseName);

/// All columns solved at once and one by one.
template <Scalar T>
void expect_columns_like_alone(const ColumnsMethod<T>& method, const CsrMatrix<T>& a, const LinearOperator<T>& A,
                               const Preconditioner<T>& M, index_t k, const ColumnsForm& form,
                               const SolveOptions& options) {
  const auto b = random_columns<T>(a.rows(), k, 41), x0 = random_columns<T>(a.rows(), k, 97);
  const ColumnsSolution<T> solution = solve_columns(method, A, M, b, x0, options, form);
  for (std::size_t c = 0; c < b.size(); ++c) {
    SCOPED_TRACE(::testing::Message() << "column " << c << " of " << k);
    expect_solved(solution.reports[c], a, b[c], solution.x[c], options.rtol);
    if (is_under_tool()) continue;
    std::vector<T> x = x0[c];
    const SolveReport alone = method.solve_one(A, M, b[c], x, options);
    expect_like_alone(solution.reports[c], alone);
    EXPECT_NEAR(solution.reports[c].initial_residual, alone.initial_residual, 1e-5 * alone.initial_residual);
    EXPECT_GT(solution.reports[c].seconds, 0.0);
  }
}

/// As many digits as a few iterations give, under a tool.
template <Scalar T>
SolveOptions few_iterations() {
  return options_for<T>(is_under_tool() ? 0.05 : 0.0);
}

TYPED_TEST(ColumnsOnBackend, AnyNumberOfColumnsInEveryForm) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(19, method.wind);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 8));
    std::size_t form = 0;
    for (const index_t k : {1, 3, 8, 17}) {
      SCOPED_TRACE(::testing::Message() << "form " << form);
      expect_columns_like_alone(method, a, LinearOperator<T>(backend, a), Preconditioner<T>(m), k,
                                columns_forms[form++ % columns_forms.size()], few_iterations<T>());
    }
    // One column, not contiguous, so that it takes the way of several.
    expect_columns_like_alone(method, a, LinearOperator<T>(backend, a), Preconditioner<T>(m), 1, columns_forms[3],
                              few_iterations<T>());
  }
}

/// More rows than the thread blocks of a product on an H200 have in one run each.
TYPED_TEST(ColumnsOnBackend, RowsInSeveralRuns) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(640);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 8));
  SolveOptions options = options_for<T>();
  options.rtol = 0.1;
  expect_columns_like_alone(columns_methods<T>()[0], a, LinearOperator<T>(backend, a), Preconditioner<T>(m), 2,
                            columns_forms[0], options);
}

/// Every way to apply a preconditioner: orders of all classes and mixed ones, large blocks, other storage, none, and
/// what takes one column at a time.
TYPED_TEST(ColumnsOnBackend, EveryPreconditioner) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    const CsrMatrix<T> a = grid_matrix<T>(20, method.wind);
    const LinearOperator<T> A(backend, a);
    const auto expect_solves = [&](const char* name, const Preconditioner<T>& M) {
      SCOPED_TRACE(::testing::Message() << method.name << ", " << name);
      expect_columns_like_alone(method, a, A, M, 5, columns_forms[0], few_iterations<T>());
    };
    expect_solves("none", {});
    for (const index_t order : {1, 2, 3, 8, 20, 32, 40, 130}) {
      SCOPED_TRACE(order);
      const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), order));
      expect_solves("uniform", m);
    }
    const BlockPartition mixed = BlockPartition::from_offsets({0, 1, 3, 6, 10, 26, 28, 60, 77, 200, 203, 400});
    expect_solves("mixed", BlockJacobi<T>(backend, a, mixed));
    const BlockPartition tiny = BlockPartition::from_offsets(
        {0, 1, 3, 6, 10, 26, 28, 60, 77, 90, 93, 94, 120, 150, 180, 212, 240, 250, 280, 312, 340, 370, 385, 400});
    expect_solves("mixed up to 32", BlockJacobi<T>(backend, a, tiny));
    expect_solves("fp32", BlockJacobi<T>(backend, a, tiny, {.storage = Storage::fp32}));
    const SparseMatrix<T> matrix(backend, a);
    for (const CoarseMode mode : {CoarseMode::additive, method.wind > 0.0 ? CoarseMode::adef1 : CoarseMode::adef2}) {
      const TwoLevel<T> two_level(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(a.rows(), 20)),
                                  {.mode = mode});
      expect_solves("two levels", two_level);
    }
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 4));
    expect_solves("function", Preconditioner<T>(backend, a.rows(), [&](auto r, auto z) { m.apply(r, z); }));
  }
}

/// Every way to take a product: short rows, long ones, rows of very different lengths, block rows, the user's.
template <Scalar T>
void expect_solves_with_every_operator(const Backend& backend, const ColumnsMethod<T>& method) {
  const auto expect_solves = [&](const char* name, const CsrMatrix<T>& a, const LinearOperator<T>& A) {
    SCOPED_TRACE(name);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 6));
    expect_columns_like_alone(method, a, A, Preconditioner<T>(m), 9, columns_forms[0], few_iterations<T>());
  };
  const CsrMatrix<T> grid = grid_matrix<T>(is_under_tool() ? 9 : 21, method.wind), uneven = long_row_matrix<T>(21);
  expect_solves("short rows", grid, LinearOperator<T>(backend, grid));
  expect_solves("uneven rows", uneven, LinearOperator<T>(backend, uneven));
  const CsrMatrix<T> cube = matrices::stencil<T>({.grid = {7, 7, 7}, .shape = matrices::StencilShape::box});
  expect_solves("long rows", cube, LinearOperator<T>(backend, cube));
  const BsrMatrix<T> blocks(backend, grid, 3);
  expect_solves("block rows", grid, LinearOperator<T>(blocks));
  const LinearOperator<T> inner(backend, grid);
  expect_solves("function", grid, LinearOperator<T>(backend, grid.rows(), [&](auto x, auto y) { inner.apply(x, y); }));
}

TYPED_TEST(ColumnsOnBackend, EveryOperatorByCg) {
  using T = typename TypeParam::Scalar;
  expect_solves_with_every_operator(this->make_backend(), columns_methods<T>()[0]);
}

TYPED_TEST(ColumnsOnBackend, EveryOperatorByGmres) {
  using T = typename TypeParam::Scalar;
  expect_solves_with_every_operator(this->make_backend(), columns_methods<T>()[1]);
}

TYPED_TEST(ColumnsOnBackend, MoreColumnsThanAreSolvedTogether) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(9, method.wind);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 3));
    for (const ColumnsForm& form : {columns_forms[0], columns_forms[3]})
      expect_columns_like_alone(method, a, LinearOperator<T>(backend, a), Preconditioner<T>(m), 70, form,
                                options_for<T>());
  }
}

/// Many rows, which host and device share out; the directions of CUDA take turns.
TYPED_TEST(ColumnsOnBackend, TwoRunsOnManyRowsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>())
    for (const bool uneven : {false, true}) {
      SCOPED_TRACE(::testing::Message() << method.name << (uneven ? ", uneven rows" : ""));
      const CsrMatrix<T> a = uneven ? long_row_matrix<T>(142) : grid_matrix<T>(142, method.wind);
      const LinearOperator<T> A(backend, a);
      const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 8));
      const auto b = random_columns<T>(a.rows(), 11, 61);
      auto options = options_for<T>();
      options.max_iterations = 21;
      const auto run = [&] {
        return solve_columns(method, A, Preconditioner<T>(m), b, zero_columns<T>(a.rows(), 11), options);
      };
      const ColumnsSolution<T> first = run(), second = run();
      for (std::size_t c = 0; c < b.size(); ++c) {
        EXPECT_GT(first.reports[c].iterations, 9);
        EXPECT_EQ(first.reports[c].history, second.reports[c].history);
        EXPECT_EQ(first.reports[c].true_residual, second.reports[c].true_residual);
        EXPECT_TRUE(same_bits(first.x[c], second.x[c]));
      }
    }
}

TYPED_TEST(ColumnsOnBackend, BasisInSinglePrecision) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const ColumnsMethod<T>& method = columns_methods<T>()[1];
  const CsrMatrix<T> a = grid_matrix<T>(15, method.wind);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 5));
  auto options = options_for<T>();
  options.basis = BasisPrecision::single;
  options.restart = 20;
  expect_columns_like_alone(method, a, LinearOperator<T>(backend, a), Preconditioner<T>(m), 6, columns_forms[3],
                            options);
}

}  // namespace
}  // namespace blockjacobi::test
