#include "backend/backend_impl.hpp"
#include "backends/enqueue.hpp"
#include "support/bits.hpp"

#include <functional>

namespace blockjacobi::test {
namespace {

TYPED_TEST_SUITE(EnqueuedSolveOnBackend, BackendCases, BackendCaseName);

/// What a recording refreshes and solves with: at first the CSR product and the blocks of a System.
template <Scalar T>
struct Parts {
  explicit Parts(System<T>& s) : A(s.A), M(s.M), refresh([&s] { s.refresh(); }) {}

  LinearOperator<T> A;
  Preconditioner<T> M;
  std::function<void()> refresh;
};

template <Scalar T>
Parts<T> without_preconditioner(System<T>& s) {
  Parts<T> parts(s);
  parts.M = Preconditioner<T>();
  return parts;
}

/// Whether CUDA takes all iterations of CG in one launch instead of the phases.
template <Scalar T>
bool resides(const Backend& backend, const Parts<T>& parts) {
  return detail::krylov_ops<T>(backend).cg_message_elements(parts.A.impl(), parts.M.impl()) > 0;
}

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

/// Records refresh and solve once, and replays them with new values and right-hand sides, after which `s` has its old
/// ones. `make(A, M, options)` gives the workspace, `enqueue` and `solve` are the two forms of one method.
template <Scalar T, class Make, class Enqueue, class Solve>
void expect_replay(System<T>& s, const Parts<T>& parts, const SolveOptions& options, int rounds, Make make,
                   Enqueue enqueue, Solve solve) {
  auto workspace = make(parts.A, parts.M, options);
  const std::vector<T> start = random_vector<T>(s.matrix.rows(), 42), b = s.b.to_host();
  const std::vector<T> original(s.matrix.values().begin(), s.matrix.values().end());
  const auto recording = s.backend.impl().record(
      [&] {
        parts.refresh();
        enqueue(workspace, std::as_const(s.b).view(), s.x.view(), s.status.data());
      },
      true);
  std::vector<T> previous;
  for (int round = 0; round < rounds; ++round) {
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
    const BlockJacobi<T> fresh(s.backend, s.matrix, s.M.partition(), s.blocks);
    const Preconditioner<T> M = parts.M.impl() != nullptr ? Preconditioner<T>(fresh) : Preconditioner<T>();
    const SolveReport expected = solve(parts.A, M, s.b.to_host(), y, options);
    expect_status(s, options, expected);
    double difference = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) difference = std::max(difference, double(std::abs(x[i] - y[i])));
    EXPECT_LE(difference, 100 * options.rtol * norm(y));
  }
  // The same replay gives the same bits.
  s.x.copy_from_host(start.data());
  recording->replay();
  const std::vector<T> again = s.x.to_host();
  EXPECT_TRUE(same_bits(previous, again));
  s.set(original);
  s.b.copy_from_host(b.data());
}

template <Scalar T>
auto solve_cg() {
  return [](const auto& A, const auto& M, const auto& b, auto& x, const auto& o) { return cg<T>(A, M, b, x, o); };
}
template <Scalar T>
auto solve_gmres() {
  return [](const auto& A, const auto& M, const auto& b, auto& x, const auto& o) { return gmres<T>(A, M, b, x, o); };
}

template <Scalar T>
void expect_cg_replay(System<T>& s, const Parts<T>& parts, const SolveOptions& options, int rounds = 3) {
  SCOPED_TRACE("cg");
  expect_replay(s, parts, options, rounds, make_cg<T>(), &cg_enqueue<T>, solve_cg<T>());
}
template <Scalar T>
void expect_gmres_replay(System<T>& s, const Parts<T>& parts, const SolveOptions& options, int rounds = 3) {
  SCOPED_TRACE("gmres");
  expect_replay(s, parts, options, rounds, make_gmres<T>(), &gmres_enqueue<T>, solve_gmres<T>());
}

/// Far enough above what rounding adds to the residual of the recurrence, with or without a preconditioner.
template <Scalar T>
SolveOptions replay_options() {
  return options_for<T>(std::is_same_v<real_t<T>, double> ? 1e-10 : 1e-4);
}

/// Both methods, CG by the phases.
template <Scalar T>
void expect_replays_of_phases(System<T>& s, const Parts<T>& parts, index_t max_iterations) {
  EXPECT_FALSE(resides(s.backend, parts));
  auto options = replay_options<T>();
  options.max_iterations = max_iterations;
  options.restart = 40;
  expect_cg_replay(s, parts, options);
  expect_gmres_replay(s, parts, options);
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedCgSeesNewValues) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(14), 7);
  auto options = options_for<T>();
  options.max_iterations = 80;
  expect_cg_replay(s, Parts<T>(s), options);
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedCgInOtherStorageSeesNewValues) {
  using T = typename TypeParam::Scalar;
  for (const Storage storage : {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16, Storage::adaptive}) {
    SCOPED_TRACE(to_string(storage));
    BlockJacobiOptions blocks;
    blocks.storage = storage;
    System<T> s(this->make_backend(), grid_matrix<T>(14), 7, blocks), full(s.backend, s.matrix, 7);
    EXPECT_EQ(resides(s.backend, Parts<T>(s)), resides(s.backend, Parts<T>(full)));
    auto options = options_for<T>();
    options.max_iterations = 80;
    expect_cg_replay(s, Parts<T>(s), options);
  }
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedGmresSeesNewValues) {
  using T = typename TypeParam::Scalar;
  for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single}) {
    System<T> s(this->make_backend(), grid_matrix<T>(14, 0.4), 7);
    auto options = options_for<T>();
    options.basis = basis;
    options.restart = 20;
    options.max_iterations = 90;
    expect_gmres_replay(s, Parts<T>(s), options);
  }
}

/// On a grid of m x m.
template <Scalar T>
void expect_recorded_solves(const Backend& backend, index_t m, SolveOptions options, int rounds) {
  for (const BasisPrecision basis : {BasisPrecision::working, BasisPrecision::single}) {
    System<T> s(backend, grid_matrix<T>(m), 3);
    options.basis = basis;
    expect_gmres_replay(s, Parts<T>(s), options, rounds);
    if (basis == BasisPrecision::single) continue;
    expect_cg_replay(s, Parts<T>(s), options, rounds);
    expect_cg_replay(s, without_preconditioner(s), options, rounds);
  }
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedSolvesSeeNewValues) {
  using T = typename TypeParam::Scalar;
  auto options = options_for<T>(1e-4);
  options.restart = 5;
  options.max_iterations = 10;
  expect_recorded_solves<T>(this->make_backend(), 3, options, 2);
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedSolvesOfAFewUnknownsSeeNewValues) {
  using T = typename TypeParam::Scalar;
  auto options = replay_options<T>();
  options.restart = 8;
  options.max_iterations = 24;
  expect_recorded_solves<T>(this->make_backend(), 4, options, 3);
}

/// More rows than the thread blocks of the resident kernel take.
TYPED_TEST(EnqueuedSolveOnBackend, RecordedCgOnManyRows) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(400), 7);
  const Parts<T> parts(s);
  EXPECT_FALSE(resides(s.backend, parts));
  auto options = options_for<T>(1e-4);
  options.max_iterations = 40;
  expect_cg_replay(s, parts, options);
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedSolvesWithoutPreconditioner) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(14), 7);
  expect_replays_of_phases(s, without_preconditioner(s), 130);
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedSolvesWithLargeBlocks) {
  using T = typename TypeParam::Scalar;
  for (const index_t block : {49, 98}) {
    SCOPED_TRACE(block);
    System<T> s(this->make_backend(), grid_matrix<T>(14), block);
    expect_replays_of_phases(s, Parts<T>(s), 80);
  }
}

/// A row too long beside the others for the products of our own, and so for the resident kernel.
TYPED_TEST(EnqueuedSolveOnBackend, RecordedSolvesWithALongRow) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), long_row_matrix<T>(24), 8);
  expect_replays_of_phases(s, Parts<T>(s), 100);
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedSolvesRefreshABsrMatrix) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(14), 7);
  BsrMatrix<T> bsr(s.backend, s.view(), 4);
  Parts<T> parts(s);
  parts.A = LinearOperator<T>(bsr);
  parts.refresh = [&s, &bsr] {
    bsr.refresh(s.values.data(), s.matrix.nnz(), s.backend.memory_space());
    s.refresh();
  };
  expect_replays_of_phases(s, parts, 80);
}

TYPED_TEST(EnqueuedSolveOnBackend, RecordedSolvesWithUsersFunctions) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(14), 7);
  const index_t n = s.matrix.rows();
  const LinearOperator<T> product(
      s.backend, n, [&s](VectorView<const T> x, VectorView<T> y) { s.A.apply(x, y); }, Capture::yes);
  const Preconditioner<T> solve(
      s.backend, n, [&s](VectorView<const T> r, VectorView<T> z) { s.M.apply(r, z); }, Capture::yes);
  Parts<T> parts(s);
  parts.A = product;
  expect_replays_of_phases(s, parts, 80);
  parts.M = solve;
  expect_replays_of_phases(s, parts, 80);
  parts.A = s.A;
  expect_replays_of_phases(s, parts, 80);
}

}  // namespace
}  // namespace blockjacobi::test
