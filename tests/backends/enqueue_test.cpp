#include "backends/enqueue.hpp"
#include "backend/backend_impl.hpp"
#include "backends/rounding.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(EnqueuedSolveOnBackend, BackendCases, BackendCaseName);

/// A cyclic shift of n unknowns keeps the residual of GMRES up until the basis spans all of them: every column of a
/// cycle is computed. Of the enqueued solve `spare` more.
template <Scalar T>
void expect_cycles(const Backend& backend, const std::vector<index_t>& lengths, index_t spare) {
  for (const index_t n : lengths)
    for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single}) {
      SCOPED_TRACE(::testing::Message() << n << " unknowns, basis " << static_cast<int>(basis));
      std::vector<Triplet<T>> entries;
      for (index_t i = 0; i < n; ++i) entries.push_back({i, (i + 1) % n, T(1)});
      const auto a = CsrMatrix<T>::from_triplets(n, n, entries);
      const LinearOperator<T> A(backend, a);
      std::vector<T> b(static_cast<std::size_t>(n)), x(b.size());
      b[0] = T(1);
      auto options = options_for<T>();
      options.basis = basis;
      options.restart = n;
      options.max_iterations = n + spare;
      const SolveReport report = gmres(A, Preconditioner<T>(), b, x, options);
      expect_solved(report, a, b, x, options.rtol);
      EXPECT_EQ(report.iterations, n);

      const Array<T> right(backend, b);
      Array<T> solution(backend, std::vector<T>(b.size()));
      Array<SolveStatus> status(backend, 1);
      GmresWorkspace<T> workspace(A, Preconditioner<T>(), options);
      gmres_enqueue(workspace, right.view(), solution.view(), status.data());
      EXPECT_EQ(status.to_host()[0].reason, StopReason::converged);
      EXPECT_EQ(status.to_host()[0].iterations, n);
      EXPECT_LE(residual(a, b, solution.to_host()), options.rtol);
    }
}

/// On CUDA the first 32 columns, 16 complex ones, have kernels of their own by their number.
TYPED_TEST(EnqueuedSolveOnBackend, CyclesOfManyColumns) {
  using T = typename TypeParam::Scalar;
  expect_cycles<T>(this->make_backend(), {is_complex<T> ? 18 : 34}, 1);
}

TYPED_TEST(EnqueuedSolveOnBackend, CyclesOfEveryLength) {
  expect_cycles<typename TypeParam::Scalar>(this->make_backend(), {7, 12, 20, 30, 40}, is_under_tool() ? 2 : 40);
}

/// The recurrences go below what the precision can show of b - A x, and that is said, not convergence.
TYPED_TEST(EnqueuedSolveOnBackend, UnreachableTargetIsStagnation) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(8), 4);
  auto options = options_for<T>(1e-3 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()));
  options.max_iterations = 400;
  const std::vector<T> b = s.b.to_host();
  for (const bool preconditioned : {false, true}) {
    SCOPED_TRACE(preconditioned);
    const Preconditioner<T> M = preconditioned ? Preconditioner<T>(s.M) : Preconditioner<T>();
    for (const SolveBy by : {SolveBy::cg, SolveBy::gmres}) {
      SCOPED_TRACE(to_string(by));
      std::vector<T> x(b.size());
      const SolveReport report = by == SolveBy::cg ? cg(s.A, M, b, x, options) : gmres(s.A, M, b, x, options);
      EXPECT_EQ(report.reason, StopReason::stagnation) << to_text(report);
      EXPECT_LT(report.iterations, options.max_iterations);
      EXPECT_GT(report.relative_residual(), options.rtol);
      EXPECT_LE(residual(s.matrix, b, x) * norm(b), rounding_of_updates(s.matrix, b, x, report.iterations));

      s.x.zero();
      const SolveStatus status = s.enqueue(by, s.A, M, options);
      EXPECT_EQ(status.reason, StopReason::stagnation) << to_string(status.reason);
      EXPECT_LT(status.iterations, options.max_iterations);
      EXPECT_GT(status.true_residual, status.target);
      const std::vector<T> y = s.x.to_host();
      EXPECT_LE(residual(s.matrix, b, y) * norm(b), rounding_of_updates(s.matrix, b, y, status.iterations));
    }
  }
}

/// Iterations after the stop change nothing: many more of them give the same bits.
TYPED_TEST(EnqueuedSolveOnBackend, NothingChangesAfterTheStop) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  System<T> s(backend, grid_matrix<T>(10), 5);
  const auto run = [&](index_t limit, SolveBy by) {
    auto options = options_for<T>();
    options.max_iterations = limit;
    options.restart = 10;
    s.x.zero();
    static_cast<void>(s.enqueue(by, s.A, s.M, options));
    return s.x.to_host();
  };
  for (const SolveBy by : {SolveBy::cg, SolveBy::gmres}) {
    SCOPED_TRACE(to_string(by));
    const std::vector<T> x = run(200, by);
    const SolveStatus status = s.outcome();
    ASSERT_EQ(status.reason, StopReason::converged);
    ASSERT_LT(status.iterations, 100);
    EXPECT_EQ(run(by == SolveBy::cg ? status.iterations : 100, by), x);
    EXPECT_EQ(s.outcome().iterations, status.iterations);
    EXPECT_EQ(s.outcome().true_residual, status.true_residual);
    // One iteration less is not enough.
    static_cast<void>(run(status.iterations - 1, by));
    EXPECT_EQ(s.outcome().iterations, status.iterations - 1);
    EXPECT_NE(s.outcome().recurrence_residual, status.recurrence_residual);
  }
}

TYPED_TEST(EnqueuedSolveOnBackend, ATargetOutOfReachKeepsTheSolution) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(10), 5);
  SolveOptions options;
  options.rtol = 0.0;
  options.max_iterations = 3000;
  EXPECT_NE(s.enqueue(SolveBy::cg, s.A, s.M, options).reason, StopReason::nan_or_inf);
  const auto b = s.b.to_host(), x = s.x.to_host();
  EXPECT_LE(residual(s.matrix, b, x) * norm(b), rounding_of_residual(s.matrix, b, x));
}

/// From its second application on the preconditioner gives NaN.
TYPED_TEST(EnqueuedSolveOnBackend, NaNOfThePreconditionerDoesNotReachTheSolution) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(4), 2);
  const Array<T> nan(s.backend, std::vector<T>(16, T(std::numeric_limits<real_t<T>>::quiet_NaN())));
  auto options = options_for<T>();
  options.restart = 3;
  options.max_iterations = 9;
  for (const SolveBy by : {SolveBy::cg, SolveBy::gmres}) {
    SCOPED_TRACE(to_string(by));
    int calls = 0;
    const auto spoilt = [&](VectorView<const T> r, VectorView<T> z) {
      if (calls++ < 1) return s.M.apply(r, z);
      s.backend.impl().copy(z.data, nan.data(), 16 * sizeof(T));
    };
    const Preconditioner<T> M(s.backend, 16, spoilt, Capture::yes);
    s.x.zero();
    const SolveStatus status = s.enqueue(by, s.A, M, options);
    EXPECT_EQ(status.reason, StopReason::nan_or_inf) << to_string(status.reason);
    EXPECT_TRUE(std::isfinite(status.true_residual));
    const auto b = s.b.to_host(), x = s.x.to_host();
    EXPECT_NEAR(residual(s.matrix, b, x) * norm(b), status.true_residual, rounding_of_residual(s.matrix, b, x));
  }
}

/// Where the state can be read without waiting, neither matrix nor preconditioner is applied after the stop, whatever
/// the limit is.
TYPED_TEST(EnqueuedSolveOnBackend, TheHostComputesNothingAfterTheStop) {
  using T = typename TypeParam::Scalar;
  if (backend_kind() != BackendKind::host) GTEST_SKIP() << "CUDA enqueues every iteration";
  System<T> s(this->make_backend(), grid_matrix<T>(10), 5);
  int products = 0, applications = 0;
  const LinearOperator<T> A(
      s.backend, 100, [&](VectorView<const T> x, VectorView<T> y) { ++products, s.A.apply(x, y); }, Capture::yes);
  const Preconditioner<T> M(
      s.backend, 100, [&](VectorView<const T> r, VectorView<T> z) { ++applications, s.M.apply(r, z); }, Capture::yes);
  auto options = options_for<T>();
  options.restart = 10;
  options.max_iterations = std::numeric_limits<index_t>::max();
  const SolveStatus first = s.enqueue(SolveBy::cg, A, M, options);
  EXPECT_EQ(first.reason, StopReason::converged);
  EXPECT_LE(products, first.iterations + 2);
  EXPECT_LE(applications, first.iterations + 1);

  products = applications = 0;
  s.x.zero();
  const SolveStatus status = s.enqueue(SolveBy::gmres, A, M, options);
  EXPECT_EQ(status.reason, StopReason::converged);
  // A residual before and after each cycle, and one at the end; a correction for each cycle.
  const int cycles = (status.iterations + 9) / 10;
  EXPECT_LE(products, status.iterations + cycles + 3);
  EXPECT_LE(applications, status.iterations + cycles + 1);
}

TYPED_TEST(EnqueuedSolveOnBackend, Reasons) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  System<T> s(backend, grid_matrix<T>(8), 4);
  const std::vector<T> start = random_vector<T>(64, 46);
  for (const SolveBy by : {SolveBy::cg, SolveBy::gmres}) {
    SCOPED_TRACE(to_string(by));
    auto options = options_for<T>();
    options.restart = 5;
    const auto run = [&] {
      s.x.copy_from_host(start.data());
      return s.enqueue(by, s.A, s.M, options);
    };
    for (const index_t limit : {0, 1, 6}) {
      options.max_iterations = limit;
      const SolveStatus few = run();
      EXPECT_EQ(few.reason, StopReason::max_iterations);
      EXPECT_EQ(few.iterations, limit);
    }
    options.max_iterations = 60;
    const std::vector<T> b = s.b.to_host();
    s.b.zero();
    const SolveStatus zero = run();
    EXPECT_EQ(zero.reason, StopReason::converged);
    EXPECT_EQ(zero.iterations, 0);
    EXPECT_EQ(s.x.to_host(), std::vector<T>(64));
    std::vector<T> bad = b;
    bad[7] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
    s.b.copy_from_host(bad.data());
    EXPECT_EQ(run().reason, StopReason::nan_or_inf);
    EXPECT_EQ(s.x.to_host(), start);
    s.b.copy_from_host(b.data());

    options.relative_to = RelativeTo::initial_residual;
    const SolveStatus relative = run();
    EXPECT_EQ(relative.reason, StopReason::converged);
    EXPECT_DOUBLE_EQ(relative.target, options.rtol * relative.initial_residual);

    // Beyond what the precision can show.
    options.rtol = 1e-3 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
    options.max_iterations = 150;
    const SolveStatus hopeless = run();
    EXPECT_TRUE(hopeless.reason == StopReason::stagnation || hopeless.reason == StopReason::max_iterations)
        << to_string(hopeless.reason);
    EXPECT_GT(hopeless.true_residual, hopeless.target);

    // A refresh that meets a singular block, which the device knows.
    const Array<T> zeros(backend, std::vector<T>(static_cast<std::size_t>(s.matrix.nnz())));
    s.M.refresh(zeros.data(), s.matrix.nnz(), backend.memory_space());
    EXPECT_EQ(run().reason, StopReason::singular_block);
    EXPECT_EQ(s.x.to_host(), start);
    s.refresh();
  }
}

}  // namespace
}  // namespace blockjacobi::test
