#include "backend/backend_impl.hpp"
#include "backends/systems.hpp"
#include "support/backends.hpp"
#include "support/messages.hpp"

#include <cstring>

namespace blockjacobi::test {
namespace {

template <class Case>
class EnqueuedSolveOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(EnqueuedSolveOnBackend, BackendCases, BackendCaseName);

/// A system whose values, right-hand side and solution lie in the backend's memory, with block-Jacobi.
template <Scalar T>
class System {
 public:
  System(const Backend& backend_, const CsrMatrix<T>& matrix_, index_t block)
      : backend(backend_),
        matrix(matrix_),
        offsets(backend, {matrix.row_offsets().begin(), matrix.row_offsets().end()}),
        columns(backend, {matrix.columns().begin(), matrix.columns().end()}),
        values(backend, {matrix.values().begin(), matrix.values().end()}),
        b(backend, random_vector<T>(matrix.rows(), 41)),
        x(backend, std::vector<T>(static_cast<std::size_t>(matrix.rows()))),
        status(backend, 1),
        A(backend, view()),
        M(backend, view(), BlockPartition::uniform(matrix.rows(), block)) {}

  CsrView<T, offset_t> view() const {
    return {matrix.rows(),  matrix.cols(), matrix.nnz(),    offsets.data(),
            columns.data(), values.data(), IndexBase::zero, backend.memory_space()};
  }
  /// New values, as a user writes them between two replays.
  void set(const std::vector<T>& new_values) {
    std::copy(new_values.begin(), new_values.end(), matrix.values().begin());
    values.copy_from_host(new_values.data());
  }
  void refresh() { M.refresh(values.data(), matrix.nnz(), backend.memory_space()); }
  SolveStatus outcome() const { return status.to_host()[0]; }

  Backend backend;
  CsrMatrix<T> matrix;
  Array<offset_t> offsets;
  Array<index_t> columns;
  Array<T> values, b, x;
  Array<SolveStatus> status;
  LinearOperator<T> A;
  BlockJacobi<T> M;
};

template <Scalar T>
void expect_status(const System<T>& s, const SolveOptions& options, const SolveReport& expected) {
  const SolveStatus status = s.outcome();
  const std::vector<T> x = s.x.to_host(), b = s.b.to_host();
  EXPECT_EQ(status.reason, StopReason::converged) << to_string(status.reason);
  EXPECT_NEAR(status.rhs_norm, norm(b), 1e-5 * norm(b));
  EXPECT_DOUBLE_EQ(status.target, options.rtol * status.rhs_norm);
  EXPECT_LE(status.true_residual, status.target);
  EXPECT_LE(status.recurrence_residual, status.target);
  EXPECT_EQ(status.initial_residual, expected.initial_residual);
  const double slack = 8 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) * std::sqrt(double(x.size()));
  EXPECT_NEAR(residual(s.matrix, b, x), status.true_residual / status.rhs_norm, slack);
  EXPECT_NEAR(status.iterations, expected.iterations, 2);
}

/// Records refresh and solve once, and replays them with new values and right-hand sides. `make(A, M, options)` gives
/// the workspace, `enqueue` and `solve` are the two forms of one method.
template <Scalar T, class Make, class Enqueue, class Solve>
void expect_replay(System<T>& s, const SolveOptions& options, Make make, Enqueue enqueue, Solve solve) {
  auto workspace = make(s.A, s.M, options);
  const std::vector<T> start = random_vector<T>(s.matrix.rows(), 42);
  const auto recording = s.backend.impl().record(
      [&] {
        s.refresh();
        enqueue(workspace, std::as_const(s.b).view(), s.x.view(), s.status.data());
      },
      true);
  std::vector<T> previous;
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    if (round > 0) {
      std::vector<T> values(s.matrix.values().begin(), s.matrix.values().end());
      for (T& value : values) value *= T(real_t<T>(1.5));
      for (index_t i = 0; i < s.matrix.rows(); ++i)
        for (offset_t k = s.matrix.row_offsets()[static_cast<std::size_t>(i)];
             k < s.matrix.row_offsets()[static_cast<std::size_t>(i) + 1]; ++k)
          if (s.matrix.columns()[static_cast<std::size_t>(k)] == i)
            values[static_cast<std::size_t>(k)] += T(static_cast<real_t<T>>(i % 3));
      s.set(values);
      s.b.copy_from_host(random_vector<T>(s.matrix.rows(), 43u + static_cast<unsigned>(round)).data());
    }
    s.x.copy_from_host(start.data());
    recording->replay();
    const std::vector<T> x = s.x.to_host();
    EXPECT_NE(x, previous);
    previous = x;
    std::vector<T> y = start;
    const BlockJacobi<T> fresh(s.backend, s.matrix, s.M.partition());
    const SolveReport expected = solve(s.A, fresh, s.b.to_host(), y, options);
    expect_status(s, options, expected);
    double difference = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) difference = std::max(difference, double(std::abs(x[i] - y[i])));
    EXPECT_LE(difference, 100 * options.rtol * norm(y));
    // The same replay gives the same bits.
    s.x.copy_from_host(start.data());
    recording->replay();
    const std::vector<T> again = s.x.to_host();
    EXPECT_EQ(std::memcmp(x.data(), again.data(), x.size() * sizeof(T)), 0);
  }
}

template <Scalar T>
auto make_cg() {
  return [](const auto& A, const auto& M, const SolveOptions& o) { return CgWorkspace<T>(A, M, o); };
}
template <Scalar T>
auto make_gmres() {
  return [](const auto& A, const auto& M, const SolveOptions& o) { return GmresWorkspace<T>(A, M, o); };
}
template <Scalar T>
auto solve_cg() {
  return [](const auto& A, const auto& M, const auto& b, auto& x, const auto& o) { return cg<T>(A, M, b, x, o); };
}
template <Scalar T>
auto solve_gmres() {
  return [](const auto& A, const auto& M, const auto& b, auto& x, const auto& o) { return gmres<T>(A, M, b, x, o); };
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedCgSeesNewValues) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(14), 7);
  auto options = options_for<T>();
  options.max_iterations = 80;
  expect_replay(s, options, make_cg<T>(), &cg_enqueue<T>, solve_cg<T>());
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedGmresSeesNewValues) {
  using T = typename TypeParam::Scalar;
  for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single}) {
    System<T> s(this->make_backend(), grid_matrix<T>(14, 0.4), 7);
    auto options = options_for<T>();
    options.basis = basis;
    options.restart = 20;
    options.max_iterations = 90;
    expect_replay(s, options, make_gmres<T>(), &gmres_enqueue<T>, solve_gmres<T>());
  }
}

/// Iterations after the stop change nothing: many more of them give the same bits.
TYPED_TEST(EnqueuedSolveOnBackend, NothingChangesAfterTheStop) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  System<T> s(backend, grid_matrix<T>(10), 5);
  const auto run = [&](index_t limit, bool by_cg) {
    auto options = options_for<T>();
    options.max_iterations = limit;
    options.restart = 10;
    s.x.zero();
    if (by_cg) {
      CgWorkspace<T> workspace(s.A, s.M, options);
      cg_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
    } else {
      GmresWorkspace<T> workspace(s.A, s.M, options);
      gmres_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
    }
    return s.x.to_host();
  };
  for (const bool by_cg : {true, false}) {
    SCOPED_TRACE(by_cg ? "cg" : "gmres");
    const std::vector<T> x = run(200, by_cg);
    const SolveStatus status = s.outcome();
    ASSERT_EQ(status.reason, StopReason::converged);
    ASSERT_LT(status.iterations, 100);
    EXPECT_EQ(run(by_cg ? status.iterations : 100, by_cg), x);
    EXPECT_EQ(s.outcome().iterations, status.iterations);
    EXPECT_EQ(s.outcome().true_residual, status.true_residual);
    // One iteration less is not enough.
    static_cast<void>(run(status.iterations - 1, by_cg));
    EXPECT_EQ(s.outcome().iterations, status.iterations - 1);
    EXPECT_NE(s.outcome().recurrence_residual, status.recurrence_residual);
  }
}

TYPED_TEST(EnqueuedSolveOnBackend, Reasons) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  System<T> s(backend, grid_matrix<T>(8), 4);
  const std::vector<T> start = random_vector<T>(64, 46);
  for (const bool by_cg : {true, false}) {
    SCOPED_TRACE(by_cg ? "cg" : "gmres");
    auto options = options_for<T>();
    options.restart = 5;
    const auto run = [&] {
      s.x.copy_from_host(start.data());
      if (by_cg) {
        CgWorkspace<T> workspace(s.A, s.M, options);
        cg_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
      } else {
        GmresWorkspace<T> workspace(s.A, s.M, options);
        gmres_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
      }
      return s.outcome();
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

TYPED_TEST(EnqueuedSolveOnBackend, SmallMisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  System<T> s(backend, grid_matrix<T>(3), 3);
  Array<T> shorter(backend, 8);
  const Preconditioner<T> slow(backend, 9, [](auto, auto) {});
  const LinearOperator<T> slow_matrix(backend, 9, [](auto, auto) {});
  const auto expect = [&](const char* workspace, const char* function, auto make, auto enqueue) {
    const std::string made = workspace, called = function;
    auto ready = make(s.A, s.M, SolveOptions{});
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(shorter).view(), s.x.view(), s.status.data()); }),
              called + ": b: length is 8, must be 9");
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(s.b).view(), shorter.view(), s.status.data()); }),
              called + ": x: length is 8, must be 9");
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(s.x).view(), s.x.view(), s.status.data()); }),
              called + ": input and output overlap");
    EXPECT_EQ(message_of([&] { enqueue(ready, std::as_const(s.b).view(), s.x.view(), nullptr); }),
              called + ": status is a null pointer");
    EXPECT_EQ(message_of([&] { make(s.A, slow, SolveOptions{}); }),
              made + ": the preconditioner is a function with Capture::no");
    EXPECT_EQ(message_of([&] { make(slow_matrix, s.M, SolveOptions{}); }),
              made + ": the matrix is a function with Capture::no");
    SolveOptions options;
    options.max_seconds = 1.0;
    const std::string asks = made + ": an enqueued solve asks neither clock (max_seconds) nor callback (progress)";
    EXPECT_EQ(message_of([&] { make(s.A, s.M, options); }), asks);
    options.max_seconds = 0.0;
    options.progress = [](const SolveProgress&) { return true; };
    EXPECT_EQ(message_of([&] { make(s.A, s.M, options); }), asks);
    options = {};
    options.max_iterations = -1;
    EXPECT_EQ(message_of([&] { make(s.A, s.M, options); }), made + ": max_iterations is -1, must be >= 0");
    const BlockJacobi<T> small(backend, grid_matrix<T>(2), BlockPartition::uniform(4, 2));
    EXPECT_EQ(message_of([&] { make(s.A, small, SolveOptions{}); }),
              made + ": the preconditioner has 4 rows, the matrix 9");
  };
  expect("CgWorkspace", "cg_enqueue", make_cg<T>(), &cg_enqueue<T>);
  expect("GmresWorkspace", "gmres_enqueue", make_gmres<T>(), &gmres_enqueue<T>);
  SolveOptions options;
  options.restart = 0;
  EXPECT_EQ(message_of([&] { GmresWorkspace<T>(s.A, s.M, options); }), "GmresWorkspace: restart is 0, must be >= 1");
}

}  // namespace
}  // namespace blockjacobi::test
