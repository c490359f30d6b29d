#include "backend/backend_impl.hpp"
#include "backends/systems.hpp"
#include "support/backends.hpp"
#include "support/messages.hpp"

#include <cstring>

// What every solver keeps to, and what is particular to those beside cg and gmres.

namespace blockjacobi::test {
namespace {

template <class Case>
class KrylovOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(KrylovOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
struct Method {
  const char* name;
  SolveReport (*solve)(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>,
                       const SolveOptions&);
  bool hermitian;  ///< needs a Hermitian positive definite matrix
};

template <Scalar T>
const std::vector<Method<T>>& methods() {
  static const std::vector<Method<T>> all{
      {"cg", &cg<T>, true},        {"fcg", &fcg<T>, true},        {"bicgstab", &bicgstab<T>, false},
      {"gmres", &gmres<T>, false}, {"fgmres", &fgmres<T>, false}, {"richardson", &richardson<T>, false}};
  return all;
}

template <Scalar T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TYPED_TEST(KrylovOnBackend, EveryMethodSolves) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(40, method.hermitian ? 0.0 : 0.4);
    const LinearOperator<T> A(backend, a);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 40));
    const std::vector<T> b = random_vector<T>(a.rows(), 21);
    auto options = options_for<T>();
    index_t plain = 0;
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(preconditioned);
      options.relaxation = preconditioned ? 1.0 : 0.2;
      std::vector<T> x = random_vector<T>(a.rows(), 22);  // nonzero x0
      const SolveReport report =
          method.solve(A, preconditioned ? Preconditioner<T>(m) : Preconditioner<T>(), b, x, options);
      expect_solved(report, a, b, x, options.rtol);
      if (preconditioned) {
        EXPECT_LT(report.iterations, plain);
      }
      plain = report.iterations;
      EXPECT_NEAR(report.residual_gap(), std::abs(report.true_residual - report.recurrence_residual) / report.rhs_norm,
                  1e-18);
      EXPECT_LE(report.residual_gap(), options.rtol);
    }
  }
}

/// Each of m^2 unknowns.
template <Scalar T>
void expect_all_methods_solve(const Backend& backend, const std::vector<index_t>& sizes) {
  for (const Method<T>& method : methods<T>())
    for (const index_t m : sizes) {
      SCOPED_TRACE(::testing::Message() << method.name << ", " << m * m << " unknowns");
      const CsrMatrix<T> a = grid_matrix<T>(m);
      const BlockJacobi<T> jacobi(backend, a, BlockPartition::uniform(m * m, 2));
      const std::vector<T> b = random_vector<T>(m * m, 23);
      std::vector<T> x(b.size());
      const auto options = options_for<T>();
      expect_solved(method.solve(LinearOperator<T>(backend, a), jacobi, b, x, options), a, b, x, options.rtol);
    }
}

TYPED_TEST(KrylovOnBackend, SmallEveryMethodOnOneAndAFewUnknowns) {
  expect_all_methods_solve<typename TypeParam::Scalar>(this->make_backend(), {1, 2});
}

TYPED_TEST(KrylovOnBackend, EveryMethodOnAFewUnknowns) {
  expect_all_methods_solve<typename TypeParam::Scalar>(this->make_backend(), {3, 6});
}

TYPED_TEST(KrylovOnBackend, TwoRunsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(24);
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 8));
  const std::vector<T> b = random_vector<T>(a.rows(), 24);
  for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single})
    for (const Method<T>& method : methods<T>()) {
      if (basis == BasisPrecision::single && method.name != std::string("gmres")) continue;
      SCOPED_TRACE(method.name);
      auto options = options_for<T>();
      options.basis = basis;
      std::vector<T> x(b.size()), y(b.size());
      const SolveReport first = method.solve(A, m, b, x, options), second = method.solve(A, m, b, y, options);
      EXPECT_EQ(first.history, second.history);
      EXPECT_EQ(first.true_residual, second.true_residual);
      EXPECT_TRUE(same_bits(x, y));
    }
}

/// Sums that the host shares out among its threads; on CUDA the phases of CG, and products with rows of any length.
TYPED_TEST(KrylovOnBackend, TwoRunsOnManyRowsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const bool long_row : {false, true}) {
    const CsrMatrix<T> a = long_row ? long_row_matrix<T>(142) : grid_matrix<T>(142);
    const LinearOperator<T> A(backend, a);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 8));
    const std::vector<T> b = random_vector<T>(a.rows(), 27);
    for (const bool preconditioned : {false, true})
      for (const Method<T>& method : methods<T>())
        for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single}) {
          if (basis == BasisPrecision::single && method.name != std::string("gmres")) continue;
          SCOPED_TRACE(::testing::Message() << method.name << (preconditioned ? ", preconditioned" : "")
                                            << (long_row ? ", with a long row" : ""));
          const Preconditioner<T> M = preconditioned ? Preconditioner<T>(m) : Preconditioner<T>();
          auto options = options_for<T>();
          options.basis = basis;
          options.relaxation = 0.2;
          options.max_iterations = 12;
          std::vector<T> x(b.size()), y(b.size());
          const SolveReport first = method.solve(A, M, b, x, options), second = method.solve(A, M, b, y, options);
          EXPECT_GT(first.iterations, 6);
          EXPECT_EQ(first.history, second.history);
          EXPECT_EQ(first.true_residual, second.true_residual);
          EXPECT_TRUE(same_bits(x, y));
        }
  }
}

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
      EXPECT_NEAR(report.initial_residual, initial, 1e-4 * initial);
      EXPECT_NEAR(report.true_residual, residual(a, b, x) * norm(b), 1e-4 * initial);
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
    EXPECT_NEAR(target, options.rtol * norm(b), 1e-5 * options.rtol * norm(b));
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
    EXPECT_LE(relative.true_residual, 0.1 * initial * 1.0001);
    const index_t few = relative.iterations;
    options.relative_to = RelativeTo::rhs;
    EXPECT_GT(initial, 2 * norm(b));
    EXPECT_GT(run().iterations, few);
  }
}

TYPED_TEST(KrylovOnBackend, SmallBadNumbersEndEveryMethod) {
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

/// Of a function or the callback; the backend can be used afterwards.
TYPED_TEST(KrylovOnBackend, ExceptionsOfTheUserComeThrough) {
  using T = typename TypeParam::Scalar;
  struct Mine {};
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(8);
  const index_t n = a.rows();
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(n, 4));
  const std::vector<T> b = random_vector<T>(n, 34);
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    auto options = options_for<T>();
    std::vector<T> x(b.size());
    int calls = 0;
    const auto third_throws = [&calls](const auto& inner) {
      return [&](VectorView<const T> in, VectorView<T> out) {
        if (++calls == 3) throw Mine();
        inner.apply(in, out);
      };
    };
    const LinearOperator<T> product(backend, n, third_throws(A));
    EXPECT_THROW((void)method.solve(product, m, b, x, options), Mine);
    calls = 0;
    const Preconditioner<T> solve(backend, n, third_throws(m));
    EXPECT_THROW((void)method.solve(A, solve, b, x, options), Mine);
    options.progress = [](const SolveProgress& p) { return p.iteration < 2 ? true : throw Mine(); };
    EXPECT_THROW((void)method.solve(A, m, b, x, options), Mine);
    options.progress = nullptr;
    x.assign(b.size(), T(0));
    expect_solved(method.solve(A, m, b, x, options), a, b, x, options.rtol);
  }
}

/// A preconditioner that gives NaN from some application on.
TYPED_TEST(KrylovOnBackend, SmallNaNOfThePreconditionerDoesNotReachTheSolution) {
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
      EXPECT_NEAR(residual(a, b, x), report.relative_residual(), 1e-5 * report.relative_residual());
      if (method.hermitian || method.solve == &bicgstab<T>) continue;
      EXPECT_LE(report.true_residual, 1.00001 * report.initial_residual);
    }
}

TYPED_TEST(KrylovOnBackend, SmallBreakdowns) {
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

/// After one iteration r = (0, -0.4, 0.8) is orthogonal to r~ = (2, 0, 0), in any rounding; b - A x as the new r~
/// helps.
TYPED_TEST(KrylovOnBackend, SmallBicgstabBeginsAnewAfterABreakdown) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a(3, 3, {0, 2, 5, 7}, {0, 2, 0, 1, 2, 1, 2}, {T(1), T(-2), T(1), T(2), T(-1), T(1), T(-1)});
  const std::vector<T> b{T(2), T(0), T(0)};
  std::vector<T> x(3);
  auto options = options_for<T>();
  options.max_iterations = 1;
  EXPECT_EQ(bicgstab(LinearOperator<T>(backend, a), {}, b, x, options).reason, StopReason::max_iterations);
  EXPECT_NEAR(residual(a, b, x), std::sqrt(0.2), 1e-6);
  options.max_iterations = 20;
  x.assign(3, T(0));
  const SolveReport report = bicgstab(LinearOperator<T>(backend, a), {}, b, x, options);
  expect_solved(report, a, b, x, options.rtol);
  EXPECT_GE(report.iterations, 2);
}

/// The residual after half an iteration is small enough: the second half adds nothing.
TYPED_TEST(KrylovOnBackend, SmallBicgstabEndsAfterHalfAnIteration) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> identity = diagonal<T>({1, 1, 1, 1, 1});
  const std::vector<T> b = random_vector<T>(5, 27);
  std::vector<T> x(5);
  const SolveReport report = bicgstab(LinearOperator<T>(backend, identity), {}, b, x);
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_EQ(report.iterations, 1);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_LE(std::abs(x[i] - b[i]), 4 * std::numeric_limits<real_t<T>>::epsilon());
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
    EXPECT_LT(report.relative_residual(), 1e3 * epsilon);
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
      EXPECT_LE(residual(a, b, x), 100 * std::numeric_limits<real_t<T>>::epsilon() * norm(b));
    }
}

/// Every second application is scaled. The directions of a flexible method are the same for it, up to their lengths.
TYPED_TEST(KrylovOnBackend, FlexibleMethodsTakeAPreconditionerThatChanges) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const bool hermitian : {true, false}) {
    SCOPED_TRACE(hermitian);
    const CsrMatrix<T> a = grid_matrix<T>(20, hermitian ? 0.0 : 0.4);
    CsrMatrix<T> quarter = a;
    for (T& value : quarter.values()) value *= T(real_t<T>(0.25));
    const LinearOperator<T> A(backend, a);
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(400, 20)),
        fourfold(backend, quarter, BlockPartition::uniform(400, 20));
    int calls = 0;
    const Preconditioner<T> changing(
        backend, 400, [&](VectorView<const T> r, VectorView<T> z) { (++calls % 2 == 0 ? fourfold : m).apply(r, z); });
    const std::vector<T> b = random_vector<T>(400, 29);
    auto options = options_for<T>();
    options.restart = 50;
    options.max_iterations = 400;
    const auto solve = [&](auto method, const Preconditioner<T>& preconditioner) {
      std::vector<T> x(400);
      return method(A, preconditioner, b, x, options);
    };
    const auto flexible = hermitian ? &fcg<T> : &fgmres<T>;
    const auto fixed = hermitian ? &cg<T> : &gmres<T>;
    std::vector<T> x(400);
    const SolveReport found = flexible(A, changing, b, x, options);
    expect_solved(found, a, b, x, options.rtol);
    EXPECT_GE(calls, found.iterations);
    const SolveReport expected = solve(fixed, m);
    EXPECT_NEAR(found.iterations, expected.iterations, 1);
    EXPECT_NEAR(solve(flexible, m).iterations, expected.iterations, 1);
    if (hermitian) continue;  // cg, too, does not mind lengths
    const SolveReport misled = solve(fixed, changing);
    EXPECT_TRUE(!misled.converged() || misled.iterations > found.iterations + 5) << to_text(misled);
  }
}

/// Preconditioners of very different quality take turns.
TYPED_TEST(KrylovOnBackend, FlexibleMethodsTakeTwoPreconditionersInTurns) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const bool hermitian : {true, false}) {
    SCOPED_TRACE(hermitian);
    const CsrMatrix<T> a = grid_matrix<T>(20, hermitian ? 0.0 : 0.4);
    const BlockJacobi<T> small(backend, a, BlockPartition::uniform(400, 1)),
        large(backend, a, BlockPartition::uniform(400, 40));
    int calls = 0;
    const Preconditioner<T> changing(
        backend, 400, [&](VectorView<const T> r, VectorView<T> z) { (++calls % 2 == 0 ? small : large).apply(r, z); });
    const std::vector<T> b = random_vector<T>(400, 29);
    std::vector<T> x(400);
    auto options = options_for<T>();
    options.restart = 60;
    options.max_iterations = 300;
    const auto solve = hermitian ? &fcg<T> : &fgmres<T>;
    expect_solved(solve(LinearOperator<T>(backend, a), changing, b, x, options), a, b, x, options.rtol);
  }
}

TYPED_TEST(KrylovOnBackend, GmresWithABasisInSinglePrecision) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(24, 0.4);
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 12));
  const std::vector<T> b = random_vector<T>(a.rows(), 30);
  for (const index_t restart : {1, 10, 60})
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "restart " << restart << ", " << preconditioned);
      auto options = options_for<T>();
      options.restart = restart;
      const Preconditioner<T> M = preconditioned ? Preconditioner<T>(m) : Preconditioner<T>();
      std::vector<T> x = random_vector<T>(a.rows(), 31), y = x;
      const SolveReport full = gmres(A, M, b, x, options);
      options.basis = BasisPrecision::single;
      const SolveReport low = gmres(A, M, b, y, options);
      expect_solved(low, a, b, y, options.rtol);
      if (std::is_same_v<real_t<T>, float>) {
        EXPECT_TRUE(same_bits(x, y)) << "single is the working precision";
      } else {
        EXPECT_FALSE(same_bits(x, y));
        EXPECT_LE(low.iterations, 1.5 * full.iterations + 10);
        EXPECT_GE(low.iterations, 0.8 * full.iterations);
      }
    }
}

TYPED_TEST(KrylovOnBackend, SmallMisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(3);
  const LinearOperator<T> A(backend, a);
  std::vector<T> b(9), x(9), shorter(8);
  for (const Method<T>& method : methods<T>()) {
    EXPECT_EQ(message_of([&] { (void)method.solve(A, {}, shorter, x, {}); }),
              std::string(method.name) + ": b: length is 8, must be 9");
    SolveOptions options;
    options.rtol = -1.0;
    EXPECT_EQ(message_of([&] { (void)method.solve(A, {}, b, x, options); }),
              std::string(method.name) + ": rtol is -1, atol is 0, must be >= 0");
  }
  SolveOptions options;
  options.relaxation = 0.0;
  EXPECT_EQ(message_of([&] { (void)richardson(A, {}, b, x, options); }),
            "richardson: relaxation is 0, must be > 0 and finite");
  options.relaxation = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message_of([&] { (void)richardson(A, {}, b, x, options); }),
            "richardson: relaxation is inf, must be > 0 and finite");
  options = {};
  options.restart = 0;
  EXPECT_EQ(message_of([&] { (void)fgmres(A, {}, b, x, options); }), "fgmres: restart is 0, must be >= 1");
  options = {};
  options.basis = BasisPrecision::single;
  EXPECT_EQ(message_of([&] { (void)fgmres(A, {}, b, x, options); }), "fgmres: basis is single, which only gmres has");
}

}  // namespace
}  // namespace blockjacobi::test
