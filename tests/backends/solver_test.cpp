#include "backends/rounding.hpp"
#include "support/backends.hpp"
#include "support/messages.hpp"

#include <cmath>
#include <cstring>
#include <limits>

namespace blockjacobi::test {
namespace {

template <class Case>
class SolverOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(SolverOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(SolverOnBackend, CgWithBlockJacobi) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(40);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(a.rows(), 1);
  index_t plain = 0;
  for (const index_t block : {0, 1, 8, 40}) {
    std::vector<T> x = random_vector<T>(a.rows(), 2);  // nonzero x0
    const auto options = options_for<T>();
    SolveReport report;
    if (block == 0) {
      report = cg(A, Preconditioner<T>(), b, x, options);
      plain = report.iterations;
    } else {
      const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), block));
      report = cg(A, m, b, x, options);
    }
    expect_solved(report, a, b, x, options.rtol);
    if (block == 40) {
      EXPECT_LT(report.iterations, plain);
    }
  }
}

TYPED_TEST(SolverOnBackend, GmresWithBlockJacobi) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(30, 0.4);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(a.rows(), 3);
  for (const index_t restart : {1, 7, 30, 75}) {
    const BlockJacobi<T> m(backend, a, BlockPartition::uniform(a.rows(), 30));
    std::vector<T> x = random_vector<T>(a.rows(), 4);
    auto options = options_for<T>();
    options.restart = restart;
    expect_solved(gmres(A, m, b, x, options), a, b, x, options.rtol);
    std::vector<T> y(x.size());
    expect_solved(gmres(A, Preconditioner<T>(), b, y, options), a, b, y, options.rtol);
  }
}

TYPED_TEST(SolverOnBackend, GmresIsDirectOnATinySystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(3, 0.3);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(9, 5);
  std::vector<T> x(9);
  const auto options = options_for<T>();
  const SolveReport report = gmres(A, Preconditioner<T>(), b, x, options);
  expect_solved(report, a, b, x, options.rtol);
  EXPECT_LE(report.iterations, 9);
}

TYPED_TEST(SolverOnBackend, ExactPreconditionerNeedsOneIteration) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(6);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(36, 36));
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(36, 6);
  std::vector<T> x(36), y(36);
  EXPECT_EQ(cg(A, m, b, x, options_for<T>()).iterations, 1);
  EXPECT_EQ(gmres(A, m, b, y, options_for<T>()).iterations, 1);
}

TYPED_TEST(SolverOnBackend, DeviceVectorsAndHostVectorsGiveTheSameBits) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(20);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(400, 8));
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(400, 7);
  std::vector<T> x(400);
  const SolveReport first = cg(A, m, b, x);
  const Array<T> device_b(backend, b);
  Array<T> device_x(backend, std::vector<T>(400));
  const SolveReport second = cg(A, m, device_b.view(), device_x.view());
  const std::vector<T> y = device_x.to_host();
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(T)), 0);
  EXPECT_EQ(first.history, second.history);
  std::vector<T> u(400), v(400);
  EXPECT_EQ(gmres(A, m, b, u).history, gmres(A, m, b, v).history);
  EXPECT_EQ(std::memcmp(u.data(), v.data(), u.size() * sizeof(T)), 0);
}

TYPED_TEST(SolverOnBackend, UserCallbacks) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(15);
  const BlockJacobi<T> m(backend, a, BlockPartition::uniform(225, 15));
  const LinearOperator<T> A(backend, a);
  for (const Capture capture : {Capture::no, Capture::yes}) {
    const LinearOperator<T> wrapped_A(
        backend, 225, [&A](VectorView<const T> x, VectorView<T> y) { A.apply(x, y); }, capture);
    const Preconditioner<T> wrapped_M(
        backend, 225, [&m](VectorView<const T> r, VectorView<T> z) { m.apply(r, z); }, capture);
    const std::vector<T> b = random_vector<T>(225, 8);
    std::vector<T> x(225), y(225);
    const auto options = options_for<T>();
    const SolveReport direct = cg(A, m, b, x, options), wrapped = cg(wrapped_A, wrapped_M, b, y, options);
    // What is not the user's the backend may fuse, and then sum up in another order.
    if (backend.kind() == BackendKind::host) {
      EXPECT_EQ(direct.history, wrapped.history);
      EXPECT_EQ(x, y);
    }
    expect_solved(direct, a, b, x, options.rtol);
    expect_solved(wrapped, a, b, y, options.rtol);
    EXPECT_NEAR(direct.iterations, wrapped.iterations, 2);
    std::fill(x.begin(), x.end(), T(0));
    std::fill(y.begin(), y.end(), T(0));
    // One cycle: the next one begins from b - A x, which is summed in double where the matrix is known.
    SolveOptions one_cycle;
    one_cycle.max_iterations = one_cycle.restart;
    one_cycle.resident = Resident::never;  // the phases alone are those of any operator
    EXPECT_EQ(gmres(A, m, b, x, one_cycle).history, gmres(wrapped_A, wrapped_M, b, y, one_cycle).history);
  }
}

TYPED_TEST(SolverOnBackend, StopReasons) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(30);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(900, 9);
  const auto run_cg = [&](const SolveOptions& options) {
    std::vector<T> x(900);
    return cg(A, Preconditioner<T>(), b, x, options);
  };
  const auto run_gmres = [&](const SolveOptions& options) {
    std::vector<T> x(900);
    return gmres(A, Preconditioner<T>(), b, x, options);
  };

  for (const index_t limit : {0, 1, 5, 33}) {
    auto options = options_for<T>(1e-30);
    options.max_iterations = limit;
    for (const SolveReport& r : {run_cg(options), run_gmres(options)}) {
      EXPECT_EQ(r.reason, StopReason::max_iterations);
      EXPECT_EQ(r.iterations, limit);
      EXPECT_EQ(r.history.size(), static_cast<std::size_t>(limit) + 1);
    }
  }

  auto stop_early = options_for<T>();
  stop_early.progress = [](const SolveProgress& p) { return p.iteration < 3; };
  for (const SolveReport& r : {run_cg(stop_early), run_gmres(stop_early)}) {
    EXPECT_EQ(r.reason, StopReason::user_stop);
    EXPECT_GE(r.iterations, 3);
  }

  auto no_time = options_for<T>();
  no_time.max_seconds = 1e-9;
  EXPECT_EQ(run_cg(no_time).reason, StopReason::time_limit);
  EXPECT_EQ(run_gmres(no_time).reason, StopReason::time_limit);

  auto loose = options_for<T>(0.0);
  loose.atol = 1.0;
  EXPECT_EQ(run_cg(loose).reason, StopReason::converged);
  EXPECT_LE(run_cg(loose).true_residual, 1.0);
}

TYPED_TEST(SolverOnBackend, ReasonsOfTheMatrix) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  const Backend backend = this->make_backend();
  const std::vector<T> b(4, T(1));
  std::vector<T> x(4);

  const CsrMatrix<T> indefinite = diagonal<T>({1, 2, -3, -4});
  EXPECT_EQ(cg(LinearOperator<T>(backend, indefinite), Preconditioner<T>(), b, x).reason,
            StopReason::indefinite_matrix);

  const CsrMatrix<T> definite = diagonal<T>({1, 2, 3, 4});
  const LinearOperator<T> A(backend, definite);
  const BlockJacobi<T> negative(backend, diagonal<T>({-1, -2, -3, -4}), BlockPartition::uniform(4, 1));
  x.assign(4, T(0));
  EXPECT_EQ(cg(A, negative, b, x).reason, StopReason::indefinite_preconditioner);

  const CsrMatrix<T> zero(4, 4, {0, 0, 0, 0, 0}, {}, {});
  x.assign(4, T(0));
  EXPECT_EQ(cg(LinearOperator<T>(backend, zero), Preconditioner<T>(), b, x).reason, StopReason::breakdown);
  EXPECT_EQ(gmres(LinearOperator<T>(backend, zero), Preconditioner<T>(), b, x).reason, StopReason::breakdown);
  EXPECT_EQ(x, std::vector<T>(4, T(0)));

  CsrMatrix<T> nan = definite;
  nan.values()[2] = T(std::numeric_limits<R>::quiet_NaN());
  x.assign(4, T(0));
  EXPECT_EQ(cg(LinearOperator<T>(backend, nan), Preconditioner<T>(), b, x).reason, StopReason::nan_or_inf);
  EXPECT_EQ(gmres(LinearOperator<T>(backend, nan), Preconditioner<T>(), b, x).reason, StopReason::nan_or_inf);
  std::vector<T> nan_b = b;
  nan_b[1] = T(std::numeric_limits<R>::infinity());
  EXPECT_EQ(cg(A, Preconditioner<T>(), nan_b, x).reason, StopReason::nan_or_inf);
}

TYPED_TEST(SolverOnBackend, SingularButConsistentGmresEnds) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = diagonal<T>({1, 2, 3, 0});
  const LinearOperator<T> A(backend, a);
  std::vector<T> b{T(1), T(1), T(1), T(0)}, x(4);
  EXPECT_EQ(gmres(A, Preconditioner<T>(), b, x, options_for<T>()).reason, StopReason::converged);
  b[3] = T(1);  // no solution
  x.assign(4, T(0));
  const SolveReport report = gmres(A, Preconditioner<T>(), b, x, options_for<T>());
  EXPECT_TRUE(report.reason == StopReason::breakdown || report.reason == StopReason::stagnation) << to_text(report);
  for (const T& value : x) EXPECT_TRUE(std::isfinite(std::abs(value)));
}

TYPED_TEST(SolverOnBackend, ZeroRightHandSideAndEmptySystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(5);
  const LinearOperator<T> A(backend, a);
  std::vector<T> x = random_vector<T>(25, 10);
  const SolveReport report = cg(A, Preconditioner<T>(), std::vector<T>(25), x);
  EXPECT_EQ(report.reason, StopReason::converged);
  EXPECT_EQ(x, std::vector<T>(25));
  const CsrMatrix<T> nothing;
  const LinearOperator<T> empty(backend, nothing);
  std::vector<T> none;
  EXPECT_TRUE(cg(empty, Preconditioner<T>(), none, none).converged());
  EXPECT_TRUE(gmres(empty, Preconditioner<T>(), none, none).converged());
}

TYPED_TEST(SolverOnBackend, ClaimsNoConvergenceThatTheResidualDoesNotShow) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(20);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(400, 11);
  auto options = options_for<T>(static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) * 1e-3);
  options.max_iterations = 2000;
  std::vector<T> x(400), y(400);
  const SolveReport by_cg = cg(A, Preconditioner<T>(), b, x, options);
  const SolveReport by_gmres = gmres(A, Preconditioner<T>(), b, y, options);
  for (const auto& [r, solution] : {std::pair(&by_cg, &x), std::pair(&by_gmres, &y)}) {
    EXPECT_NE(r->reason, StopReason::converged);
    EXPECT_GT(r->relative_residual(), options.rtol);
    EXPECT_LE(r->true_residual, rounding_of_updates(a, b, *solution, r->iterations));
  }
}

TYPED_TEST(SolverOnBackend, OperatorTakesBothOffsetsAndBases) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const std::vector<std::int32_t> offsets{1, 4, 6};
  const std::vector<std::int64_t> long_offsets{1, 4, 6};
  const std::vector<index_t> columns{2, 1, 2, 2, 1};
  const std::vector<T> values{T(1), T(2), T(3), T(5), T(7)};
  const CsrView<T, std::int32_t> narrow{2, 2, 5, offsets.data(), columns.data(), values.data(), IndexBase::one, {}};
  const CsrView<T, std::int64_t> wide{2, 2, 5, long_offsets.data(), columns.data(), values.data(), IndexBase::one, {}};
  const std::vector<T> expected{T(2 * 10 + 4 * 100), T(7 * 10 + 5 * 100)};
  EXPECT_EQ(this->applied(LinearOperator<T>(backend, narrow), backend, {T(10), T(100)}), expected);
  EXPECT_EQ(this->applied(LinearOperator<T>(backend, wide), backend, {T(10), T(100)}), expected);

  const Array<std::int64_t> device_offsets(backend, long_offsets);
  const Array<index_t> device_columns(backend, columns);
  const Array<T> device_values(backend, values);
  const CsrView<T, std::int64_t> view{2,
                                      2,
                                      5,
                                      device_offsets.data(),
                                      device_columns.data(),
                                      device_values.data(),
                                      IndexBase::one,
                                      backend.memory_space()};
  EXPECT_EQ(this->applied(LinearOperator<T>(backend, view), backend, {T(10), T(100)}), expected);
}

TYPED_TEST(SolverOnBackend, InitialResidualIsKnownWithAndWithoutHistory) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(12);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(144, 12), x0 = random_vector<T>(144, 13);
  const double expected = residual(a, b, x0) * norm(b);
  for (const bool history : {true, false}) {
    auto options = options_for<T>();
    options.history = history;
    std::vector<T> x = x0, y = x0;
    for (const SolveReport& r :
         {cg(A, Preconditioner<T>(), b, x, options), gmres(A, Preconditioner<T>(), b, y, options)}) {
      EXPECT_NEAR(r.initial_residual, expected, 1e-4 * expected);
      EXPECT_EQ(r.history.empty(), !history);
    }
  }
}

TYPED_TEST(SolverOnBackend, NormsOutsideTheRangeOfTheirSquaresAreRefused) {
  using T = typename TypeParam::Scalar;
  using R = real_t<T>;
  if (std::is_same_v<R, float>) GTEST_SKIP() << "no float is outside the range";
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(4);
  const LinearOperator<T> A(backend, a);
  for (const double size : {1e-170, 1e170}) {
    std::vector<T> b(16, T(static_cast<R>(size))), x(16);
    EXPECT_EQ(cg(A, Preconditioner<T>(), b, x).reason, StopReason::nan_or_inf);
    EXPECT_EQ(gmres(A, Preconditioner<T>(), b, x).reason, StopReason::nan_or_inf);
  }
}

TYPED_TEST(SolverOnBackend, ALongRestartCostsNoMoreThanTheSystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(5, 0.2);
  const LinearOperator<T> A(backend, a);
  const std::vector<T> b = random_vector<T>(25, 14);
  std::vector<T> x(25);
  auto options = options_for<T>();
  options.restart = std::numeric_limits<index_t>::max();
  expect_solved(gmres(A, Preconditioner<T>(), b, x, options), a, b, x, options.rtol);
}

TYPED_TEST(SolverOnBackend, AnOperatorCanBeReplacedByOneOfAnotherBackend) {
  using T = typename TypeParam::Scalar;
  const std::vector<T> expected = [&] {
    const CsrMatrix<T> a = diagonal<T>({2, 3});
    LinearOperator<T> A(this->make_backend(), diagonal<T>({1, 1}).view());
    const Backend second = this->make_backend();
    A = LinearOperator<T>(second, a);
    return this->applied(A, second, {T(1), T(1)});
  }();
  EXPECT_EQ(expected, (std::vector<T>{T(2), T(3)}));
}

TYPED_TEST(SolverOnBackend, MisuseThrowsWithTheNumbers) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(3);
  const LinearOperator<T> A(backend, a);
  const Preconditioner<T> none;
  std::vector<T> b(9), x(9), shorter(8);
  const auto cg_message = [&](SolveOptions options) { return message_of([&] { (void)cg(A, none, b, x, options); }); };
  SolveOptions options;
  EXPECT_EQ(message_of([&] { (void)cg(A, none, shorter, x); }), "cg: b: length is 8, must be 9");
  EXPECT_EQ(message_of([&] { (void)gmres(A, none, b, shorter); }), "gmres: x: length is 8, must be 9");
  EXPECT_EQ(message_of([&] { (void)cg(A, none, x, x); }), "cg: input and output overlap");
  options.rtol = -1.0;
  EXPECT_EQ(cg_message(options), "cg: rtol is -1, atol is 0, must be >= 0");
  options = {};
  options.max_iterations = -2;
  EXPECT_EQ(cg_message(options), "cg: max_iterations is -2, must be >= 0");
  options = {};
  options.max_seconds = -3.0;
  EXPECT_EQ(cg_message(options), "cg: max_seconds is -3, must be >= 0");
  options = {};
  options.relative_to = static_cast<RelativeTo>(2);
  EXPECT_EQ(cg_message(options), "cg: relative_to is 2, no enumerator");
  options = {};
  options.basis = static_cast<BasisPrecision>(-1);
  EXPECT_EQ(message_of([&] { (void)gmres(A, none, b, x, options); }), "gmres: basis is -1, no enumerator");
  options = {};
  options.resident = static_cast<Resident>(2);
  EXPECT_EQ(cg_message(options), "cg: resident is 2, no enumerator");
  options = {};
  options.restart = 0;
  EXPECT_EQ(message_of([&] { (void)gmres(A, none, b, x, options); }), "gmres: restart is 0, must be >= 1");
  const BlockJacobi<T> small(backend, grid_matrix<T>(2), BlockPartition::uniform(4, 2));
  EXPECT_EQ(message_of([&] { (void)cg(A, small, b, x); }), "cg: the preconditioner has 4 rows, the matrix 9");
  const Backend other = this->make_backend();
  const BlockJacobi<T> elsewhere(other, a, BlockPartition::uniform(9, 3));
  EXPECT_NE(message_of([&] { (void)cg(A, elsewhere, b, x); }).find("another backend"), std::string::npos);
  const CsrMatrix<T> rectangle(2, 3, {0, 0, 0}, {}, {});
  EXPECT_EQ(message_of([&] { LinearOperator<T>(backend, rectangle); }),
            "LinearOperator: the matrix is 2 x 3, must be square");
  CsrView<T> broken = a.view();
  broken.values = nullptr;
  EXPECT_EQ(message_of([&] { LinearOperator<T>(backend, broken); }),
            "LinearOperator: the matrix has 33 entries but no values");
  for (const MemorySpace space : {MemorySpace::host, backend.memory_space()}) {
    broken = a.view();
    broken.space = space;
    broken.nnz = -1;
    EXPECT_EQ(message_of([&] { LinearOperator<T>(backend, broken); }),
              "LinearOperator: the matrix is 9 x 9 with -1 entries, none may be negative");
    EXPECT_EQ(message_of([&] { BlockJacobi<T>(backend, broken, BlockPartition::uniform(9, 3)); }),
              "BlockJacobi: the matrix is 9 x 9 with -1 entries, none may be negative");
    broken.nnz = 33;
    broken.columns = nullptr;
    EXPECT_EQ(message_of([&] { LinearOperator<T>(backend, broken); }),
              "LinearOperator: the matrix has a null pointer for its columns");
  }
  const MemorySpace foreign = MemorySpace::device;
  if (backend.memory_space() == MemorySpace::host) {
    EXPECT_EQ(message_of([&] { (void)cg(A, none, VectorView<const T>(b.data(), 9, foreign), x); }).substr(0, 27),
              "cg: b: lies on the device, ");
    broken = a.view();
    broken.space = foreign;
    EXPECT_EQ(message_of([&] { LinearOperator<T>(backend, broken); }),
              "LinearOperator: the matrix lies on the device, the backend is " + backend.description());
  }
  Array<T> in(backend, 9), out(backend, 8);
  EXPECT_EQ(message_of([&] { A.apply(in.view(), out.view()); }), "LinearOperator::apply: y: length is 8, must be 9");
  EXPECT_EQ(message_of([&] { A.apply(in.view(), in.view()); }), "LinearOperator::apply: input and output overlap");
  EXPECT_EQ(message_of([&] { LinearOperator<T>(backend, -1, [](auto, auto) {}); }),
            "LinearOperator: rows is -1, must be >= 0");
  EXPECT_EQ(message_of([&] { LinearOperator<T>(backend, 3, VectorFunction<T>()); }),
            "LinearOperator: the function is empty");
  EXPECT_EQ(message_of([&] { Preconditioner<T>(backend, -1, [](auto, auto) {}); }),
            "Preconditioner: rows is -1, must be >= 0");
  EXPECT_EQ(message_of([&] { Preconditioner<T>(backend, 3, VectorFunction<T>()); }),
            "Preconditioner: the function is empty");
}

}  // namespace
}  // namespace blockjacobi::test
