#include "backends/columns.hpp"
#include "backends/rounding.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"

// When and why each of several columns ends, whatever the others do.

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(ColumnsOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(ColumnsOnBackend, ColumnsEndAtVeryDifferentTimes) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(is_under_tool() ? 10 : 24, method.wind);
    const index_t n = a.rows();
    const LinearOperator<T> A(backend, a);
    // A zero, one that x0 solves, one that begins near its solution, and random ones.
    auto b = random_columns<T>(n, 10, 51), x0 = zero_columns<T>(n, 10);
    std::fill(b[2].begin(), b[2].end(), T(0));
    x0[2].assign(x0[2].size(), T(7));
    x0[4] = random_vector<T>(n, 52);
    b[4] = product(a, x0[4]);
    auto options = options_for<T>(is_under_tool() ? 1e-3 : 0.0);
    static_cast<void>(method.solve_one(A, {}, b[9], x0[9], options));
    x0[9][5] += T(static_cast<real_t<T>>(is_under_tool() ? 0.1 : 0.001));
    const ColumnsSolution<T> solution = solve_columns(method, A, {}, b, x0, options);
    for (std::size_t c = 0; c < b.size(); ++c) {
      SCOPED_TRACE(c);
      if (c != 2) {
        expect_solved(solution.reports[c], a, b[c], solution.x[c], options.rtol);
      }
      if (is_under_tool()) continue;
      std::vector<T> x = x0[c];
      const SolveReport alone = method.solve_one(A, {}, b[c], x, options);
      expect_like_alone(solution.reports[c], alone);
      EXPECT_EQ(solution.reports[c].history.size() == 0, alone.history.size() == 0);
    }
    EXPECT_EQ(solution.x[2], std::vector<T>(static_cast<std::size_t>(n)));
    EXPECT_EQ(solution.reports[2].true_residual, 0.0);
    EXPECT_EQ(solution.reports[4].iterations, 0);
    EXPECT_EQ(solution.x[4], x0[4]);
    EXPECT_LT(solution.reports[9].iterations, solution.reports[0].iterations);
    EXPECT_GT(solution.reports[9].iterations, 0);
  }
}

/// A column of NaN, infinite or overflowing numbers: the others do not notice, bit by bit.
TYPED_TEST(ColumnsOnBackend, BadNumbersStayInTheirColumn) {
  using T = typename TypeParam::Scalar;
  using Limits = std::numeric_limits<real_t<T>>;
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(13, method.wind);
    const index_t n = a.rows();
    const LinearOperator<T> A(backend, a);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(n, 7));
    const auto b = random_columns<T>(n, 6, 71), x0 = random_columns<T>(n, 6, 72);
    const ColumnsSolution<T> good = solve_columns(method, A, Preconditioner<T>(m), b, x0, options_for<T>());
    for (const real_t<T> bad : {Limits::quiet_NaN(), Limits::infinity()})
      for (const bool in_x0 : {false, true}) {
        auto bad_b = b, bad_x0 = x0;
        (in_x0 ? bad_x0 : bad_b)[3][11] = T(bad);
        const ColumnsSolution<T> mixed =
            solve_columns(method, A, Preconditioner<T>(m), bad_b, bad_x0, options_for<T>());
        for (std::size_t c = 0; c < b.size(); ++c) {
          SCOPED_TRACE(c);
          if (c == 3) {
            EXPECT_EQ(mixed.reports[c].reason, StopReason::nan_or_inf);
            EXPECT_TRUE(same_bits(mixed.x[c], bad_x0[c]));
            continue;
          }
          EXPECT_EQ(mixed.reports[c].reason, StopReason::converged);
          EXPECT_EQ(mixed.reports[c].history, good.reports[c].history);
          EXPECT_TRUE(same_bits(mixed.x[c], good.x[c]));
        }
      }
  }
}

TYPED_TEST(ColumnsOnBackend, OneColumnBreaksDown) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const ColumnsMethod<T>& method = columns_methods<T>()[0];
  const CsrMatrix<T> a = diagonal<T>({1, -1, 2, 3});
  const LinearOperator<T> A(backend, a);
  // p^H A p is 0 in the first iteration of one, negative in that of another; two meet positive numbers alone.
  const std::vector<std::vector<T>> b{
      {T(0), T(0), T(1), T(1)}, {T(1), T(1), T(0), T(0)}, {T(1), T(2), T(0), T(0)}, {T(1), T(0), T(1), T(0)}};
  const ColumnsSolution<T> solution = solve_columns(method, A, {}, b, zero_columns<T>(4, 4), options_for<T>());
  EXPECT_EQ(solution.reports[0].reason, StopReason::converged);
  EXPECT_EQ(solution.reports[1].reason, StopReason::breakdown);
  EXPECT_EQ(solution.reports[2].reason, StopReason::indefinite_matrix);
  EXPECT_EQ(solution.reports[3].reason, StopReason::converged);
  EXPECT_EQ(solution.x[1], std::vector<T>(4));
  EXPECT_EQ(solution.x[2], std::vector<T>(4));
}

/// A target below what rounding lets the recurrence show, so that claims of columns are followed up while others of
/// the batch are done: to a smaller target, from b - A x anew, or to the same end as alone.
TYPED_TEST(ColumnsOnBackend, ClaimsAreFollowedUp) {
  using T = typename TypeParam::Scalar;
  const double eps = static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    const CsrMatrix<T> a = grid_matrix<T>(30, method.wind);
    const LinearOperator<T> A(backend, a);
    for (const double digits : {2.0, 4.0, 20.0}) {
      SCOPED_TRACE(::testing::Message() << method.name << ", " << digits << " eps");
      SolveOptions options;
      options.rtol = digits * eps;
      options.max_iterations = 600;
      const auto b = random_columns<T>(a.rows(), 5, 81);
      // Far off, so that x has to lose its error before r may be small.
      auto x0 = zero_columns<T>(a.rows(), 5);
      x0[1].assign(x0[1].size(), T(1000));
      const ColumnsSolution<T> solution = solve_columns(method, A, {}, b, x0, options);
      for (std::size_t c = 0; c < b.size(); ++c) {
        SCOPED_TRACE(c);
        const SolveReport& report = solution.reports[c];
        if (report.reason == StopReason::converged) {
          EXPECT_LE(report.relative_residual(), options.rtol);
        } else {
          EXPECT_TRUE(report.reason == StopReason::stagnation || report.reason == StopReason::max_iterations ||
                      report.reason == StopReason::breakdown)
              << to_text(report);
        }
        // As near as rounding allows, whatever the reason.
        const double rounding = rounding_of_residual(a, b[c], solution.x[c]);
        EXPECT_LE(report.true_residual, rounding) << to_text(report);
        EXPECT_NEAR(residual(a, b[c], solution.x[c]) * norm(b[c]), report.true_residual, rounding);
      }
    }
  }
}

TYPED_TEST(ColumnsOnBackend, LimitsEndAllColumns) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(16, method.wind);
    const LinearOperator<T> A(backend, a);
    const auto b = random_columns<T>(a.rows(), 3, 91), x0 = random_columns<T>(a.rows(), 3, 92);
    auto options = options_for<T>();
    const auto expect_consistent = [&](const ColumnsSolution<T>& solution, std::size_t c) {
      EXPECT_EQ(solution.reports[c].history.size(), static_cast<std::size_t>(solution.reports[c].iterations) + 1);
      EXPECT_NEAR(solution.reports[c].true_residual, residual(a, b[c], solution.x[c]) * norm(b[c]),
                  rounding_of_residual(a, b[c], solution.x[c]));
    };
    for (const index_t limit : {0, 1, 7}) {
      options.max_iterations = limit;
      const ColumnsSolution<T> solution = solve_columns(method, A, {}, b, x0, options);
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(solution.reports[c].reason, StopReason::max_iterations);
        EXPECT_EQ(solution.reports[c].iterations, limit);
        expect_consistent(solution, c);
        if (limit == 0) {
          EXPECT_EQ(solution.x[c], x0[c]);
        } else {
          EXPECT_LT(solution.reports[c].true_residual, solution.reports[c].initial_residual);
        }
      }
    }
    options.max_iterations = 5000;
    options.max_seconds = 1e-9;
    for (const SolveReport& report : solve_columns(method, A, {}, b, x0, options).reports)
      EXPECT_EQ(report.reason, StopReason::time_limit);
    options.max_seconds = 0.0;
    options.history = false;
    for (const SolveReport& report : solve_columns(method, A, {}, b, x0, options).reports)
      EXPECT_TRUE(report.history.empty() && report.iterations > 0);
    options.history = true;

    // The one that is furthest is shown: the other two are solved by x0.
    auto solved = b;
    for (const std::size_t c : {std::size_t{0}, std::size_t{1}}) solved[c] = product(a, x0[c]);
    double target = 0.0;
    options.progress = [&target](const SolveProgress& p) {
      target = p.target;
      return p.iteration < 3;
    };
    const ColumnsSolution<T> stopped = solve_columns(method, A, {}, solved, x0, options);
    EXPECT_EQ(stopped.reports[0].reason, StopReason::converged);
    EXPECT_EQ(stopped.reports[1].reason, StopReason::converged);
    EXPECT_EQ(stopped.reports[2].reason, StopReason::user_stop);
    EXPECT_GE(stopped.reports[2].iterations, 3);
    expect_consistent(stopped, 2);
    EXPECT_NEAR(target, options.rtol * norm(b[2]), rounding_of_norm<T>(b[2].size()) * options.rtol * norm(b[2]));
  }
}

TYPED_TEST(ColumnsOnBackend, SingularBlocksEndAllColumns) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = diagonal<T>({1, 2, 3, 4});
  BlockJacobi<T> m(backend, a, BlockPartition::uniform(4, 2));
  const Array<T> zeros(backend, std::vector<T>(4));
  m.refresh(zeros.data(), 4, backend.memory_space());
  const std::vector<std::vector<T>> fives(2, std::vector<T>(4, T(5)));
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    const ColumnsSolution<T> solution =
        solve_columns(method, LinearOperator<T>(backend, a), Preconditioner<T>(m), fives, fives, {});
    for (const SolveReport& report : solution.reports) EXPECT_EQ(report.reason, StopReason::singular_block);
    EXPECT_EQ(solution.x, fives);
  }
}

TYPED_TEST(ColumnsOnBackend, NoColumnsAndNoRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(3), empty = CsrMatrix<T>::from_triplets(0, 0, {});
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    const MultiVectorView<T> none{nullptr, 9, 0, 9};
    EXPECT_TRUE(method.solve(LinearOperator<T>(backend, a), {}, none, none, {}).empty());
    const ColumnsSolution<T> solution =
        solve_columns(method, LinearOperator<T>(backend, empty), {}, zero_columns<T>(0, 3), zero_columns<T>(0, 3), {});
    for (const SolveReport& report : solution.reports) EXPECT_EQ(report.reason, StopReason::converged);
  }
}

TYPED_TEST(ColumnsOnBackend, MisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(3);
  const LinearOperator<T> A(backend, a);
  std::vector<T> b(40), x(40);
  const auto view = [](std::vector<T>& v, index_t rows, index_t cols, offset_t ld, Layout layout) {
    return MultiVectorView<T>{v.data(), rows, cols, ld, layout, MemorySpace::host};
  };
  const auto by_columns = Layout::column_major, by_rows = Layout::row_major;
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    const std::string name = method.name;
    const auto message = [&](const MultiVectorView<T>& B, const MultiVectorView<T>& X, const SolveOptions& options = {},
                             const Preconditioner<T>& M = {}) {
      return message_of([&] { (void)method.solve(A, M, B, X, options); });
    };
    const MultiVectorView<T> good_b = view(b, 9, 2, 9, by_columns), good_x = view(x, 9, 2, 9, by_columns);
    EXPECT_EQ(message(view(b, 8, 2, 9, by_columns), good_x), name + ": B: has 8 rows, must have 9");
    EXPECT_EQ(message(good_b, view(x, 10, 2, 10, by_columns)), name + ": X: has 10 rows, must have 9");
    EXPECT_EQ(message(good_b, view(x, 9, 3, 9, by_columns)), name + ": B has 2 columns, X 3");
    EXPECT_EQ(message(view(b, 9, -1, 9, by_columns), good_x), name + ": B: has -1 columns");
    EXPECT_EQ(message(view(b, 9, 2, 8, by_columns), good_x),
              name + ": B: the leading dimension is 8, must be at least 9");
    EXPECT_EQ(message(good_b, view(x, 9, 2, 1, by_rows)), name + ": X: the leading dimension is 1, must be at least 2");
    EXPECT_EQ(message({nullptr, 9, 2, 9, by_columns, MemorySpace::host}, good_x), name + ": B: null pointer, 9 x 2");
    EXPECT_EQ(message(view(b, 9, 2, 9, static_cast<Layout>(2)), good_x), name + ": B: layout is 2, no enumerator");
    EXPECT_EQ(message(good_b, view(b, 9, 2, 9, by_columns)), name + ": input and output overlap");
    SolveOptions options;
    options.rtol = -1.0;
    EXPECT_EQ(message(good_b, good_x, options), name + ": rtol is -1, atol is 0, must be >= 0");
    const CsrMatrix<T> other = grid_matrix<T>(2);
    const BlockJacobi<T> m(backend, other, BlockPartition::uniform(4, 2));
    EXPECT_EQ(message(good_b, good_x, {}, m), name + ": the preconditioner has 4 rows, the matrix 9");
    if (backend.kind() == BackendKind::host) {
      MultiVectorView<T> on_device = good_b;
      on_device.space = MemorySpace::device;
      EXPECT_EQ(message(on_device, good_x),
                name + ": B: lies on the device, the backend (" + backend.description() + ") computes on the host");
    }
  }
  SolveOptions options;
  options.restart = 0;
  EXPECT_EQ(message_of([&] {
              (void)gmres_columns(A, {}, view(b, 9, 2, 9, by_columns), view(x, 9, 2, 9, by_columns), options);
            }),
            "gmres_columns: restart is 0, must be >= 1");
}

/// What a function of the user throws comes through, and the backend can be used afterwards.
TYPED_TEST(ColumnsOnBackend, ExceptionsOfTheUserComeThrough) {
  using T = typename TypeParam::Scalar;
  struct Mine {};
  const Backend backend = this->make_backend();
  for (const ColumnsMethod<T>& method : columns_methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(8, method.wind);
    const LinearOperator<T> A(backend, a);
    int calls = 0;
    const LinearOperator<T> product(backend, a.rows(), [&](auto x, auto y) {
      if (++calls == 11) throw Mine();
      A.apply(x, y);
    });
    const auto b = random_columns<T>(a.rows(), 3, 31), x0 = zero_columns<T>(a.rows(), 3);
    EXPECT_THROW(solve_columns(method, product, {}, b, x0, {}), Mine);
    auto options = options_for<T>();
    options.progress = [](const SolveProgress& p) { return p.iteration < 2 ? true : throw Mine(); };
    EXPECT_THROW(solve_columns(method, A, {}, b, x0, options), Mine);
    const ColumnsSolution<T> solution = solve_columns(method, A, {}, b, x0, options_for<T>());
    for (std::size_t c = 0; c < 3; ++c) expect_solved(solution.reports[c], a, b[c], solution.x[c], options.rtol);
  }
}

}  // namespace
}  // namespace blockjacobi::test
