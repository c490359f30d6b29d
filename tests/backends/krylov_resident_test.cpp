#include "backends/krylov.hpp"
#include "support/bits.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(KrylovOnBackend, BackendCases, BackendCaseName);

// One launch for many iterations, where there is one, is another way to the same end.

/// The same solve both ways, from the same guess. On the host there is one way only.
template <Scalar T>
void expect_one_end(const Backend& backend, const Method<T>& method, const CsrMatrix<T>& a, const BlockJacobi<T>& M,
                    SolveOptions options) {
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(a.rows(), 51);
  std::vector<T> x = random_vector<T>(a.rows(), 52), y = x;
  const SolveReport found = method.solve(A, M, b, x, options);
  options.resident = Resident::never;
  const SolveReport expected = method.solve(A, M, b, y, options);
  EXPECT_EQ(found.reason, expected.reason);
  EXPECT_NEAR(found.iterations, expected.iterations, std::max(2.0, 0.02 * expected.iterations));
  EXPECT_EQ(found.history.size(), static_cast<std::size_t>(found.iterations) + 1);
  const std::size_t alike = std::min<std::size_t>({found.history.size(), expected.history.size(), 6});
  for (std::size_t i = 0; i < alike; ++i)
    EXPECT_NEAR(found.history[i], expected.history[i],
                1e3 * std::numeric_limits<real_t<T>>::epsilon() * found.history[0])
        << i;
  if (expected.converged()) expect_solved(found, a, b, x, options.rtol);
  if (backend.kind() == BackendKind::host) {
    EXPECT_TRUE(same_bits(x, y));
  }
}

TYPED_TEST(KrylovOnBackend, ResidentOrNotTheSolveEndsTheSame) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const Method<T>& method : methods<T>()) {
    SCOPED_TRACE(method.name);
    const CsrMatrix<T> a = grid_matrix<T>(24, method.hermitian ? 0.0 : 0.4);
    const BlockJacobi<T> M(backend, a, BlockPartition::uniform(a.rows(), 8));
    auto options = options_for<T>();
    options.relaxation = 0.8;
    expect_one_end(backend, method, a, M, options);
    options.max_iterations = 5;
    expect_one_end(backend, method, a, M, options);
  }
}

/// Cycles that end early, many of them, one of all the norms that a state holds, and longer ones.
TYPED_TEST(KrylovOnBackend, ResidentOrNotGmresEndsTheSameForEveryRestart) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const Method<T> method{"gmres", &gmres<T>, false};
  const CsrMatrix<T> a = grid_matrix<T>(20, 0.4);
  for (const index_t restart : {1, 4, 31, 64, 65}) {
    SCOPED_TRACE(restart);
    for (const index_t block : {1, 20}) {
      const BlockJacobi<T> M(backend, a, BlockPartition::uniform(a.rows(), block));
      auto options = options_for<T>();
      options.restart = restart;
      expect_one_end(backend, method, a, M, options);
      options.max_iterations = 70;
      expect_one_end(backend, method, a, M, options);
    }
  }
}

/// The recurrence claims what rounding does not let b - A x reach: both ways end, by the same reason.
TYPED_TEST(KrylovOnBackend, ResidentOrNotGmresStagnates) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(10, 0.4);
  const BlockJacobi<T> M(backend, a, BlockPartition::uniform(a.rows(), 5));
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(a.rows(), 53);
  SolveOptions options;
  options.rtol = 1e-3 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  options.max_iterations = 2000;
  for (const Resident resident : {Resident::automatic, Resident::never}) {
    options.resident = resident;
    std::vector<T> x(b.size());
    const SolveReport report = gmres(A, M, b, x, options);
    EXPECT_EQ(report.reason, StopReason::stagnation) << to_text(report);
    EXPECT_LT(report.iterations, options.max_iterations);
    EXPECT_LE(residual(a, b, x), 100 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()));
  }
}

}  // namespace
}  // namespace blockjacobi::test
