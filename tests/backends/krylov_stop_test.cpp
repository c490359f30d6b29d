#include "backend/backend_impl.hpp"
#include "backends/krylov.hpp"
#include "backends/rounding.hpp"

// When and why every solver ends.

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(KrylovOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(KrylovOnBackend, LimitsEndEveryMethod) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(16);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(256, 25), x0 = random_vector<T>(256, 26);
  const double initial = residual(a, b, x0) * norm(b);
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    auto options = options_for<T>();
    options.relaxation = 0.2;
    std::vector<T> x;
    const auto run = [&] {
      x = x0;
      return method.solve(A, Preconditioner<T>(), b, x, options);
    };
    for (const index_t limit : {0, 1, 7}) {
      options.max_iterations = limit;
      const SolveReport report = run();
      EXPECT_EQ(report.reason, StopReason::max_iterations);
      EXPECT_EQ(report.iterations, limit);
      EXPECT_EQ(report.history.size(), static_cast<std::size_t>(limit) + 1);
      EXPECT_NEAR(report.initial_residual, initial, rounding_of_residual(a, b, x0));
      EXPECT_NEAR(report.true_residual, residual(a, b, x) * norm(b), rounding_of_residual(a, b, x));
      if (limit == 0) {
        EXPECT_EQ(x, x0);
      }
    }
    options.max_iterations = 5000;

    options.max_seconds = 1e-9;
    EXPECT_EQ(run().reason, StopReason::time_limit);
    options.max_seconds = 0.0;

    double target = 0.0;
    options.progress = [&target](const SolveProgress& p) {
      target = p.target;
      return p.iteration < 3;
    };
    const SolveReport stopped = run();
    EXPECT_EQ(stopped.reason, StopReason::user_stop);
    EXPECT_GE(stopped.iterations, 3);
    if (backend.kind() == BackendKind::host) {
      EXPECT_EQ(stopped.iterations, 3);
    }
    EXPECT_EQ(stopped.history.size(), static_cast<std::size_t>(stopped.iterations) + 1);
    EXPECT_NEAR(target, options.rtol * norm(b), rounding_of_norm<T>(b.size()) * options.rtol * norm(b));
    options.progress = nullptr;

    options.rtol = 0.0;
    options.atol = 0.5;
    const SolveReport absolute = run();
    EXPECT_EQ(absolute.reason, StopReason::converged);
    EXPECT_LE(absolute.true_residual, 0.5);
    EXPECT_GT(absolute.true_residual, 0.01) << "the larger of the two targets counts";

    // x0 is far off: a tenth of its residual is nothing against ||b||, or the other way round.
    options.atol = 0.0;
    options.rtol = 0.1;
    options.relative_to = RelativeTo::initial_residual;
    const SolveReport relative = run();
    EXPECT_EQ(relative.reason, StopReason::converged);
    EXPECT_LE(relative.true_residual, 0.1 * (initial + rounding_of_residual(a, b, x0)));
    const index_t few = relative.iterations;
    options.relative_to = RelativeTo::rhs;
    EXPECT_GT(initial, 2 * norm(b));
    EXPECT_GT(run().iterations, few);
  }
}

TYPED_TEST(KrylovOnBackend, BadNumbersEndEveryMethod) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> good = diagonal<T>({1, 2, 3, 4});
  CsrMatrix<T> bad = good;
  bad.values()[2] = T(std::numeric_limits<R>::quiet_NaN());
  std::vector<T> b(4, T(1)), infinite = b;
  infinite[1] = T(std::numeric_limits<R>::infinity());
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    std::vector<T> x(4);
    EXPECT_EQ(method.solve(LinearOperator<T>(backend, bad), {}, b, x, {}).reason, StopReason::nan_or_inf);
    x.assign(4, T(0));
    EXPECT_EQ(method.solve(LinearOperator<T>(backend, good), {}, infinite, x, {}).reason, StopReason::nan_or_inf);
    x.assign(4, T(5));
    x[3] = bad.values()[2];
    EXPECT_EQ(method.solve(LinearOperator<T>(backend, good), {}, b, x, {}).reason, StopReason::nan_or_inf);
    const SolveReport zero = method.solve(LinearOperator<T>(backend, good), {}, std::vector<T>(4), x, {});
    EXPECT_EQ(zero.reason, StopReason::converged);
    EXPECT_EQ(zero.true_residual, 0.0);
    EXPECT_TRUE(zero.history.empty());
    EXPECT_EQ(x, std::vector<T>(4));

    // A refresh that meets a singular block.
    BlockJacobi<T> m(backend, good, BlockPartition::uniform(4, 2));
    const Array<T> zeros(backend, std::vector<T>(4));
    m.refresh(zeros.data(), 4, backend.memory_space());
    x.assign(4, T(5));
    EXPECT_EQ(method.solve(LinearOperator<T>(backend, good), m, b, x, {}).reason, StopReason::singular_block);
    EXPECT_EQ(x, std::vector<T>(4, T(5)));
  }
}

TYPED_TEST(KrylovOnBackend, AnExactInitialGuessNeedsNoIteration) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = diagonal<T>({1, 2, 3, 4});
  const std::vector<T> b{T(1), T(2), T(3), T(4)}, solution(4, T(1));
  for (const Method<T>& method : methods<T>())
    for (const RelativeTo relative_to : {RelativeTo::rhs, RelativeTo::initial_residual}) {
      SCOPED_TRACE(method.name);
      SolveOptions options;
      options.rtol = relative_to == RelativeTo::rhs ? 0.0 : 1e-8;
      options.relative_to = relative_to;
      std::vector<T> x = solution;
      const SolveReport report = method.solve(LinearOperator<T>(backend, a), {}, b, x, options);
      EXPECT_EQ(report.reason, StopReason::converged);
      EXPECT_EQ(report.iterations, 0);
      EXPECT_EQ(report.history, std::vector<double>{0.0});
      EXPECT_EQ(x, solution);
    }
}

/// A preconditioner that gives NaN from some application on.
TYPED_TEST(KrylovOnBackend, NaNOfThePreconditionerDoesNotReachTheSolution) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(4);
  const index_t n = a.rows();
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(n, 2));
  const Array<T> nan(backend,
                     std::vector<T>(static_cast<std::size_t>(n), T(std::numeric_limits<real_t<T>>::quiet_NaN())));
  const std::vector<T> b = random_vector<T>(n, 31), start = random_vector<T>(n, 32);
  auto options = options_for<T>(std::is_same_v<real_t<T>, double> ? 1e-13 : 1e-6);
  options.restart = 3;
  for (const Method<T>& method : methods<T>())
    for (const int good : {0, 1, 2, 3, 5}) {  // the fourth is that of the first correction of GMRES(3)
      SCOPED_TRACE(::testing::Message() << method.name << ", " << good << " applications");
      if (method.solve == &richardson<T>) continue;
      int calls = 0;
      const Preconditioner<T> spoilt(backend, n, [&](VectorView<const T> r, VectorView<T> z) {
        if (calls++ < good) return m.apply(r, z);
        backend.impl().copy(z.data, nan.data(), static_cast<std::size_t>(n) * sizeof(T));
      });
      std::vector<T> x = start;
      const SolveReport report = method.solve(A, spoilt, b, x, options);
      EXPECT_EQ(report.reason, StopReason::nan_or_inf) << to_text(report);
      EXPECT_TRUE(std::isfinite(report.true_residual));
      EXPECT_NEAR(residual(a, b, x) * norm(b), report.true_residual, rounding_of_residual(a, b, x));
      if (method.hermitian || method.solve == &bicgstab<T>) continue;
      const double steps = report.iterations + 1;  // each rounds a product, and the correction is one more
      EXPECT_LE(report.true_residual, report.initial_residual + steps * rounding_of_residual(a, b, x));
    }
}

TYPED_TEST(KrylovOnBackend, Breakdowns) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> zero(4, 4, {0, 0, 0, 0, 0}, {}, {});
  const std::vector<T> b(4, T(1));
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    std::vector<T> x(4);
    SolveOptions options;
    options.max_iterations = 20;
    const bool richardson = method.name == std::string("richardson");  // divides by nothing
    EXPECT_EQ(method.solve(LinearOperator<T>(backend, zero), {}, b, x, options).reason,
              richardson ? StopReason::max_iterations : StopReason::breakdown);
    EXPECT_TRUE(richardson || x == std::vector<T>(4));
  }
  // r~^H A r = 0 for a skew-symmetric matrix.
  const CsrMatrix<T> skew = CsrMatrix<T>::from_triplets(2, 2, std::vector<Triplet<T>>{{0, 1, T(1)}, {1, 0, T(-1)}});
  const std::vector<T> e1{T(1), T(0)};
  std::vector<T> x(2);
  EXPECT_EQ(bicgstab(LinearOperator<T>(backend, skew), {}, e1, x).reason, StopReason::breakdown);
  EXPECT_EQ(x, std::vector<T>(2));

  const CsrMatrix<T> indefinite = diagonal<T>({1, 2, -3, -4}), definite = diagonal<T>({1, 2, 3, 4});
  x.assign(4, T(0));
  EXPECT_EQ(fcg(LinearOperator<T>(backend, indefinite), {}, b, x).reason, StopReason::indefinite_matrix);
  const BlockJacobi<T> negative(backend, diagonal<T>({-1, -2, -3, -4}), BlockPartition::uniform(4, 1));
  x.assign(4, T(0));
  EXPECT_EQ(fcg(LinearOperator<T>(backend, definite), negative, b, x).reason, StopReason::indefinite_preconditioner);
}

TYPED_TEST(KrylovOnBackend, NoMethodClaimsWhatTheResidualDoesNotShow) {
  using T = typename TypeParam::Scalar;
  const double epsilon = static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(14);
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 14));
  const std::vector<T> b = random_vector<T>(a.rows(), 28);
  auto options = options_for<T>(1e-3 * epsilon);
  options.max_iterations = 1000;
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    std::vector<T> x(b.size());
    const SolveReport report = method.solve(A, m, b, x, options);
    EXPECT_NE(report.reason, StopReason::converged);
    EXPECT_GT(report.relative_residual(), options.rtol);
    EXPECT_LE(report.true_residual, rounding_of_residual(a, b, x)) << "as near as rounding allows";
  }
}

/// Also where a claim of convergence is followed up.
TYPED_TEST(KrylovOnBackend, NoMethodExceedsItsLimit) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(12);
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 7));
  const std::vector<T> b = random_vector<T>(a.rows(), 33);
  auto options = options_for<T>(static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()));
  for (const Method<T>& method : methods<T>())
    for (index_t limit = 1; limit <= 70; ++limit) {
      SCOPED_TRACE(::testing::Message() << method.name << ", " << limit);
      options.max_iterations = limit;
      std::vector<T> x(b.size());
      const SolveReport report = method.solve(A, m, b, x, options);
      EXPECT_LE(report.iterations, limit) << to_text(report);
      EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
      if (report.reason == StopReason::max_iterations) {
        EXPECT_EQ(report.iterations, limit);
      }
    }
}

/// The recurrence goes on until its scalars have no reciprocals.
TYPED_TEST(KrylovOnBackend, ATargetOutOfReachKeepsTheSolution) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(10);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 5));
  const std::vector<T> b = random_vector<T>(a.rows(), 28);
  SolveOptions options;
  options.rtol = 0.0;
  options.max_iterations = 3000;
  options.relaxation = 0.2;
  for (const Method<T>& method : methods<T>())
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(::testing::Message() << method.name << (preconditioned ? ", preconditioned" : ""));
      std::vector<T> x(b.size());
      const SolveReport report = method.solve(
          LinearOperator<T>(backend, a), preconditioned ? Preconditioner<T>(m) : Preconditioner<T>(), b, x, options);
      EXPECT_FALSE(report.converged());
      EXPECT_NE(report.reason, StopReason::nan_or_inf);
      EXPECT_LE(residual(a, b, x) * norm(b), rounding_of_residual(a, b, x));
    }
}

}  // namespace
}  // namespace blockjacobi::test
