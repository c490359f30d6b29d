#include "backends/krylov.hpp"
#include "support/bits.hpp"

// What is particular to the solvers beside cg and gmres, and to a basis in single precision.

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(KrylovOnBackend, BackendCases, BackendCaseName);

/// After one iteration r = (0, -0.4, 0.8) is orthogonal to r~ = (2, 0, 0), in any rounding; b - A x as the new r~
/// helps.
TYPED_TEST(KrylovOnBackend, BicgstabBeginsAnewAfterABreakdown) {
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
TYPED_TEST(KrylovOnBackend, BicgstabEndsAfterHalfAnIteration) {
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

}  // namespace
}  // namespace blockjacobi::test
