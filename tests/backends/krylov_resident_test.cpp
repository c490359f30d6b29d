#include "backends/krylov.hpp"
#include "backends/rounding.hpp"
#include "support/bits.hpp"

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(KrylovOnBackend, BackendCases, BackendCaseName);

// One launch for many iterations, where there is one, is another way to the same end.

/// By how much two ways of a solve may differ after an iteration, beside the first residual: each iteration rounds rows
/// of A, of a block, and a few sums and updates, and either way may be as far off; what is off grows by the condition
/// at most. For A with a dominant diagonal.
template <Scalar T>
double rounding_of_iteration(const CsrMatrix<T>& a, const BlockJacobi<T>& M) {
  double largest = 0.0, smallest = std::numeric_limits<double>::infinity();
  offset_t longest = 0;
  const auto offsets = a.row_offsets();
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    double own = 0.0, others = 0.0;
    for (auto k = static_cast<std::size_t>(offsets[i]); k < static_cast<std::size_t>(offsets[i + 1]); ++k)
      (static_cast<std::size_t>(a.columns()[k]) == i ? own : others) += std::abs(a.values()[k]);
    largest = std::max(largest, own + others);
    smallest = std::min(smallest, own - others);
    longest = std::max(longest, offsets[i + 1] - offsets[i]);
  }
  EXPECT_GT(smallest, 0.0);
  const auto roundings = static_cast<double>(longest + M.partition().largest_block()) + std::log2(a.rows());
  return 2 * roundings * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) * largest / smallest;
}

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
  const double rounding = rounding_of_iteration(a, M) * found.history[0];
  for (std::size_t i = 0; i < alike; ++i)
    EXPECT_NEAR(found.history[i], expected.history[i], static_cast<double>(i + 1) * rounding) << i;
  if (expected.converged()) expect_solved(found, a, b, x, options.rtol);
  if (backend.kind() == BackendKind::host) {
    EXPECT_TRUE(same_bits(x, y));
  }
}

/// 5-point on an m x m grid, Hermitian, with coefficients that jump by a factor of `jump` from one square of 4 x 4
/// nodes to others.
template <Scalar T>
CsrMatrix<T> jumping_matrix(index_t m, double jump) {
  std::vector<Triplet<T>> entries;
  const auto coefficient = [&](index_t i, index_t j) { return (i / 4 * 7 + j / 4 * 3) % 5 < 2 ? jump : 1.0; };
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < m; ++j) {
      const double own = coefficient(i, j);
      double sum = 0.0;
      for (const auto& [di, dj] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        const index_t k = i + di, l = j + dj;
        const bool is_inside = k >= 0 && k < m && l >= 0 && l < m;
        const double other = is_inside ? coefficient(k, l) : own;
        const double edge = 2 * own * other / (own + other);
        sum += edge;
        if (!is_inside) continue;
        T value(static_cast<real_t<T>>(-edge));
        if constexpr (is_complex<T>) value *= T(real_t<T>(0.8), real_t<T>(0.6 * (di + dj)));
        entries.push_back({i * m + j, k * m + l, value});
      }
      entries.push_back({i * m + j, i * m + j, T(static_cast<real_t<T>>(sum))});
    }
  return CsrMatrix<T>::from_triplets(m * m, m * m, entries);
}

/// Systems on which recurrences for A M^-1 r drift away, from a guess so far off that what they lose there is more than
/// is asked for: b - A x gets there, in as many iterations as in the phases.
TYPED_TEST(KrylovOnBackend, ResidentOrNotHardSystemsOfCgAreSolved) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const bool is_double = std::is_same_v<real_t<T>, double>;
  const CsrMatrix<T> a = jumping_matrix<T>(48, 1e6);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = product(a, random_vector<T>(a.rows(), 54));
  for (const index_t block : {8, 32}) {
    const BlockJacobi<T> M(backend, a, BlockPartition::uniform(a.rows(), block));
    for (const double size : {0.0, is_double ? 1e5 : 1e2}) {
      SCOPED_TRACE(::testing::Message() << "blocks of " << block << ", guess of size " << size);
      SolveOptions options;
      options.rtol = is_double ? 1e-12 : 2e-5;
      std::vector<T> guess = random_vector<T>(a.rows(), 55);
      for (T& element : guess) element *= static_cast<real_t<T>>(size);
      std::vector<T> x = guess, again = guess, y = guess;
      const SolveReport found = cg(A, M, b, x, options);
      EXPECT_EQ(cg(A, M, b, again, options).iterations, found.iterations);
      options.resident = Resident::never;
      const SolveReport expected = cg(A, M, b, y, options);
      expect_solved(found, a, b, x, options.rtol);
      EXPECT_EQ(expected.reason, StopReason::converged) << to_text(expected);
      EXPECT_NEAR(found.iterations, expected.iterations, 0.1 * expected.iterations);
      EXPECT_TRUE(same_bits(x, again));
    }
  }
}

/// Each by its reason, also from the middle of a launch: no definite matrix, no definite preconditioner, a residual
/// that no iteration gets to.
TYPED_TEST(KrylovOnBackend, ResidentOrNotCgFailsTheSame) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const index_t m = 20, n = m * m;
  std::vector<Triplet<T>> entries = grid_entries<T>(m, 0.0);
  for (index_t i = 0; i < n; ++i) entries.push_back({i, i, T(real_t<T>(-0.4))});  // some eigenvalues below 0
  const CsrMatrix<T> definite = grid_matrix<T>(m), indefinite = CsrMatrix<T>::from_triplets(n, n, entries);
  for (index_t i = 0; i < n; ++i) entries.push_back({i, i, T(real_t<T>(i == n / 2 ? -40 : 0))});
  const CsrMatrix<T> negative = CsrMatrix<T>::from_triplets(n, n, entries);
  struct Case {
    const CsrMatrix<T>&a, &m;
    StopReason reason;
    double rtol;
  };
  const double eps = static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  for (const Case& c : {Case{indefinite, definite, StopReason::indefinite_matrix, 0.0},
                        Case{definite, negative, StopReason::indefinite_preconditioner, 0.0},
                        Case{definite, definite, StopReason::stagnation, 1e-3 * eps}}) {
    SCOPED_TRACE(to_string(c.reason));
    const LinearOperator<T> A(backend, c.a);
    const BlockJacobi<T> M(backend, c.m, BlockPartition::uniform(n, 5));
    const std::vector<T> b = random_vector<T>(n, 56);
    SolveOptions options;
    options.rtol = c.rtol;
    options.max_iterations = 2000;
    std::vector<T> x(b.size()), y(b.size());
    const SolveReport found = cg(A, M, b, x, options);
    options.resident = Resident::never;
    const SolveReport expected = cg(A, M, b, y, options);
    EXPECT_EQ(found.reason, c.reason) << to_text(found);
    EXPECT_EQ(expected.reason, c.reason) << to_text(expected);
    EXPECT_NEAR(found.iterations, expected.iterations, std::max(2.0, 0.1 * expected.iterations));
    EXPECT_EQ(found.history.size(), static_cast<std::size_t>(found.iterations) + 1);
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
    EXPECT_LE(residual(a, b, x) * norm(b), rounding_of_updates(a, b, x, report.iterations));
  }
}

}  // namespace
}  // namespace blockjacobi::test
