#include "backend/backend_impl.hpp"
#include "backends/systems.hpp"
#include "support/backends.hpp"
#include "support/messages.hpp"

#include <cstring>
#include <functional>

namespace blockjacobi::test {
namespace {

template <class Case>
class EnqueuedSolveOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(EnqueuedSolveOnBackend, BackendCases, BackendCaseName);

/// A system whose values, right-hand side and solution lie in the backend's memory, with block-Jacobi.
template <Scalar T>
class System {
 public:
  System(const Backend& backend_, const CsrMatrix<T>& matrix_, index_t block, const BlockJacobiOptions& blocks_ = {})
      : backend(backend_),
        matrix(matrix_),
        blocks(blocks_),
        offsets(backend, {matrix.row_offsets().begin(), matrix.row_offsets().end()}),
        columns(backend, {matrix.columns().begin(), matrix.columns().end()}),
        values(backend, {matrix.values().begin(), matrix.values().end()}),
        b(backend, random_vector<T>(matrix.rows(), 41)),
        x(backend, std::vector<T>(static_cast<std::size_t>(matrix.rows()))),
        status(backend, 1),
        A(backend, view()),
        M(backend, view(), BlockPartition::uniform(matrix.rows(), block), blocks) {}

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
  BlockJacobiOptions blocks;
  Array<offset_t> offsets;
  Array<index_t> columns;
  Array<T> values, b, x;
  Array<SolveStatus> status;
  LinearOperator<T> A;
  BlockJacobi<T> M;
};

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
  return detail::krylov_ops<T>(backend).cg_can_reside(parts.A.impl(), parts.M.impl());
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
  EXPECT_EQ(std::memcmp(previous.data(), again.data(), again.size() * sizeof(T)), 0);
  s.set(original);
  s.b.copy_from_host(b.data());
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
    System<T> s(this->make_backend(), grid_matrix<T>(14), 7, blocks);
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

TYPED_TEST(EnqueuedSolveOnBackend, SmallRecordedSolvesSeeNewValues) {
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
  System<T> s(this->make_backend(), grid_matrix<T>(300), 7);
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
TYPED_TEST(EnqueuedSolveOnBackend, SmallCyclesOfManyColumns) {
  using T = typename TypeParam::Scalar;
  expect_cycles<T>(this->make_backend(), {is_complex<T> ? 18 : 34}, 1);
}

TYPED_TEST(EnqueuedSolveOnBackend, CyclesOfEveryLength) {
  expect_cycles<typename TypeParam::Scalar>(this->make_backend(), {7, 12, 20, 30, 40}, 40);
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
    for (const bool by_cg : {true, false}) {
      SCOPED_TRACE(by_cg ? "cg" : "gmres");
      std::vector<T> x(b.size());
      const SolveReport report = by_cg ? cg(s.A, M, b, x, options) : gmres(s.A, M, b, x, options);
      EXPECT_EQ(report.reason, StopReason::stagnation) << to_text(report);
      EXPECT_LT(report.iterations, options.max_iterations);
      EXPECT_GT(report.relative_residual(), options.rtol);
      EXPECT_LT(residual(s.matrix, b, x), 1e5 * options.rtol);

      s.x.zero();
      if (by_cg) {
        CgWorkspace<T> workspace(s.A, M, options);
        cg_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
      } else {
        GmresWorkspace<T> workspace(s.A, M, options);
        gmres_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
      }
      const SolveStatus status = s.outcome();
      EXPECT_EQ(status.reason, StopReason::stagnation) << to_string(status.reason);
      EXPECT_LT(status.iterations, options.max_iterations);
      EXPECT_GT(status.true_residual, status.target);
      EXPECT_LT(residual(s.matrix, b, s.x.to_host()), 1e5 * options.rtol);
    }
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

TYPED_TEST(EnqueuedSolveOnBackend, ATargetOutOfReachKeepsTheSolution) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(10), 5);
  SolveOptions options;
  options.rtol = 0.0;
  options.max_iterations = 3000;
  CgWorkspace<T> workspace(s.A, s.M, options);
  cg_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
  EXPECT_NE(s.outcome().reason, StopReason::nan_or_inf);
  EXPECT_LE(residual(s.matrix, s.b.to_host(), s.x.to_host()),
            100 * std::numeric_limits<real_t<T>>::epsilon() * norm(s.b.to_host()));
}

/// From its second application on the preconditioner gives NaN.
TYPED_TEST(EnqueuedSolveOnBackend, SmallNaNOfThePreconditionerDoesNotReachTheSolution) {
  using T = typename TypeParam::Scalar;
  System<T> s(this->make_backend(), grid_matrix<T>(4), 2);
  const Array<T> nan(s.backend, std::vector<T>(16, T(std::numeric_limits<real_t<T>>::quiet_NaN())));
  auto options = options_for<T>();
  options.restart = 3;
  options.max_iterations = 9;
  for (const bool by_cg : {true, false}) {
    SCOPED_TRACE(by_cg ? "cg" : "gmres");
    int calls = 0;
    const auto spoilt = [&](VectorView<const T> r, VectorView<T> z) {
      if (calls++ < 1) return s.M.apply(r, z);
      s.backend.impl().copy(z.data, nan.data(), 16 * sizeof(T));
    };
    const Preconditioner<T> M(s.backend, 16, spoilt, Capture::yes);
    s.x.zero();
    if (by_cg) {
      CgWorkspace<T> workspace(s.A, M, options);
      cg_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
    } else {
      GmresWorkspace<T> workspace(s.A, M, options);
      gmres_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
    }
    const SolveStatus status = s.outcome();
    EXPECT_EQ(status.reason, StopReason::nan_or_inf) << to_string(status.reason);
    EXPECT_TRUE(std::isfinite(status.true_residual));
    EXPECT_NEAR(residual(s.matrix, s.b.to_host(), s.x.to_host()), status.true_residual / status.rhs_norm, 1e-5);
  }
}

/// Where the state can be read without waiting, neither matrix nor preconditioner is applied after the stop, whatever
/// the limit is.
TYPED_TEST(EnqueuedSolveOnBackend, TheHostComputesNothingAfterTheStop) {
  using T = typename TypeParam::Scalar;
  if (TypeParam::kind != BackendKind::host) GTEST_SKIP() << "CUDA enqueues every iteration";
  System<T> s(this->make_backend(), grid_matrix<T>(10), 5);
  int products = 0, applications = 0;
  const LinearOperator<T> A(
      s.backend, 100, [&](VectorView<const T> x, VectorView<T> y) { ++products, s.A.apply(x, y); }, Capture::yes);
  const Preconditioner<T> M(
      s.backend, 100, [&](VectorView<const T> r, VectorView<T> z) { ++applications, s.M.apply(r, z); }, Capture::yes);
  auto options = options_for<T>();
  options.restart = 10;
  options.max_iterations = std::numeric_limits<index_t>::max();
  CgWorkspace<T> by_cg(A, M, options);
  cg_enqueue(by_cg, s.b.view(), s.x.view(), s.status.data());
  const SolveStatus first = s.outcome();
  EXPECT_EQ(first.reason, StopReason::converged);
  EXPECT_LE(products, first.iterations + 2);
  EXPECT_LE(applications, first.iterations + 1);

  products = applications = 0;
  s.x.zero();
  GmresWorkspace<T> workspace(A, M, options);
  gmres_enqueue(workspace, s.b.view(), s.x.view(), s.status.data());
  const SolveStatus status = s.outcome();
  EXPECT_EQ(status.reason, StopReason::converged);
  // A residual before and after each cycle, and one at the end; a correction for each cycle.
  const int cycles = (status.iterations + 9) / 10;
  EXPECT_LE(products, status.iterations + cycles + 3);
  EXPECT_LE(applications, status.iterations + cycles + 1);
}

/// What a workspace refers to must outlive it.
TYPED_TEST(EnqueuedSolveOnBackend, TakesNoTemporaryPreconditioner) {
  using T = typename TypeParam::Scalar;
  using A = const LinearOperator<T>&;
  static_assert(std::is_constructible_v<CgWorkspace<T>, A, const BlockJacobi<T>&>);
  static_assert(!std::is_constructible_v<CgWorkspace<T>, A, BlockJacobi<T>>);
  static_assert(std::is_constructible_v<GmresWorkspace<T>, A, const BlockJacobi<T>&>);
  static_assert(!std::is_constructible_v<GmresWorkspace<T>, A, BlockJacobi<T>>);
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
    const bool on_host = backend.memory_space() == MemorySpace::host;
    const MemorySpace elsewhere = on_host ? MemorySpace::device : MemorySpace::host;
    const std::string lies = std::string(": lies on the ") + to_string(elsewhere) + ", ";
    const VectorView<const T> foreign_b(s.b.data(), 9, elsewhere);
    const VectorView<T> foreign_x(s.x.data(), 9, elsewhere);
    EXPECT_EQ(message_of([&] { enqueue(ready, foreign_b, s.x.view(), s.status.data()); }).find(called + ": b" + lies),
              0u);
    EXPECT_EQ(message_of([&] {
                enqueue(ready, std::as_const(s.b).view(), foreign_x, s.status.data());
              }).find(called + ": x" + lies),
              0u);
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
