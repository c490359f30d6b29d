#include "backends/columns.hpp"
#include "backends/enqueue.hpp"
#include "backends/krylov.hpp"
#include "matrices/generators/stencil.hpp"

#include <complex>

// What `converged` promises: the residual of x itself, not of its products in single precision.

namespace blockjacobi::test {
namespace {

template <class Case>
class TrueResidualOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(TrueResidualOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
constexpr bool is_single = sizeof(real_t<T>) == sizeof(float);

template <class T>
using Wide = std::conditional_t<is_complex<T>, std::complex<long double>, long double>;

/// A x in long double.
template <Scalar T>
std::vector<Wide<T>> exact_product(const CsrMatrix<T>& a, const std::vector<T>& x) {
  std::vector<Wide<T>> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    for (auto k = static_cast<std::size_t>(a.row_offsets()[i]); k < static_cast<std::size_t>(a.row_offsets()[i + 1]);
         ++k)
      y[i] += Wide<T>(a.values()[k]) * Wide<T>(x[static_cast<std::size_t>(a.columns()[k])]);
  return y;
}

/// ||b - A x||, the same way.
template <Scalar T>
double exact_residual(const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  const std::vector<Wide<T>> y = exact_product(a, x);
  long double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) sum += std::norm(Wide<T>(b[i]) - y[i]);
  return static_cast<double>(std::sqrt(sum));
}

SolveOptions limited(index_t iterations, double rtol = 1e-8) {
  SolveOptions options;
  options.max_iterations = iterations;
  options.rtol = rtol;
  return options;
}

/// The report, or status, holds the residual of x, and converged means that it is small enough.
template <class Report, Scalar T>
void expect_honest(const Report& report, double target, const CsrMatrix<T>& a, const std::vector<T>& b,
                   const std::vector<T>& x) {
  const double exact = exact_residual(a, b, x), rounding = 1e-13 * report.initial_residual;
  EXPECT_NEAR(report.true_residual, exact, 1e-6 * exact + rounding);
  if (report.reason == StopReason::converged) {
    EXPECT_LE(exact, target * (1 + 1e-6) + rounding);
  }
}

/// Of an x whose residual is what b = A x loses by being rounded, alone and among several columns.
template <Scalar T>
void expect_residuals(const LinearOperator<T>& A, const CsrMatrix<T>& a) {
  const auto x = random_columns<T>(a.rows(), 11, 31);
  std::vector<std::vector<T>> b;
  for (const std::vector<T>& column : x) {
    b.emplace_back();
    for (const Wide<T>& exact : exact_product(a, column)) b.back().push_back(T(exact));
  }
  const auto expect_exact = [&](std::size_t c, const SolveReport& report) {
    const double exact = exact_residual(a, b[c], x[c]);
    EXPECT_NEAR(report.true_residual, exact, 1e-6 * exact + 1e-13 * norm(b[c])) << "column " << c;
  };
  std::vector<T> guess = x[0];
  expect_exact(0, richardson(A, {}, b[0], guess, limited(0)));
  for (const ColumnsMethod<T>& method : columns_methods<T>())
    for (const ColumnsForm& form : {columns_forms[0], columns_forms[3]}) {
      SCOPED_TRACE(method.name);
      const auto solution = solve_columns(method, A, {}, b, x, limited(0), form);
      for (std::size_t c = 0; c < b.size(); ++c) expect_exact(c, solution.reports[c]);
    }
}

/// The same with the arrays of a CSR matrix in the memory of the backend.
template <Scalar T, Offset O>
void expect_residuals_of_csr(const Backend& backend, const CsrMatrix<T>& a, IndexBase base) {
  SCOPED_TRACE(::testing::Message() << 8 * sizeof(O) << "-bit offsets, base " << static_cast<int>(base));
  std::vector<O> offsets;
  std::vector<index_t> columns;
  for (const offset_t offset : a.row_offsets()) offsets.push_back(static_cast<O>(offset + static_cast<int>(base)));
  for (const index_t column : a.columns()) columns.push_back(column + static_cast<int>(base));
  const Array<O> own_offsets(backend, offsets);
  const Array<index_t> own_columns(backend, columns);
  const Array<T> values(backend, {a.values().begin(), a.values().end()});
  expect_residuals(
      LinearOperator<T>(backend, CsrView<T, O>{a.rows(), a.cols(), a.nnz(), own_offsets.data(), own_columns.data(),
                                               values.data(), base, backend.memory_space()}),
      a);
}

/// Row i has length(i) entries in columns that are not sorted, every fifth in that of the entry before if `repeats`.
template <Scalar T, class Length>
CsrMatrix<T> unsorted(index_t n, bool repeats, Length length) {
  Random random(17);
  std::vector<offset_t> offsets{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (index_t i = 0; i < n; ++i) {
    const index_t first = random.index(n);
    for (index_t k = 0; k < length(i); ++k) {
      columns.push_back(repeats && k % 5 == 4 ? columns.back() : (first + k) % n);
      values.push_back(random.scalar<T>());
    }
    offsets.push_back(static_cast<offset_t>(columns.size()));
  }
  return CsrMatrix<T>(n, n, offsets, columns, values);
}

TYPED_TEST(TrueResidualOnBackend, AThirdInSinglePrecisionIsNotSolvedTo1e8) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto a = CsrMatrix<T>::from_triplets(1, 1, std::vector<Triplet<T>>{{0, 0, T(3)}});
  const BlockJacobi<T> M(backend, a, BlockPartition::uniform(1, 1));
  const LinearOperator<T> by_csr(backend, a), by_bsr(BsrMatrix<T>(backend, a, 1));
  const std::vector<T> b{T(1)};
  const auto expect_end = [&](const char* name, const SolveReport& report, const std::vector<T>& x) {
    EXPECT_EQ(report.converged(), !is_single<T>) << name << ": " << to_text(report);
    expect_honest(report, 1e-8, a, b, x);
  };
  for (const LinearOperator<T>& A : {by_csr, by_bsr}) {
    for (const Method<T>& method : methods<T>()) {
      std::vector<T> x(1);
      expect_end(method.name, method.solve(A, M, b, x, {}), x);
    }
    for (const ColumnsMethod<T>& method : columns_methods<T>()) {
      const auto solution = solve_columns<T>(method, A, M, {b, b, b}, zero_columns<T>(1, 3), {});
      for (std::size_t c = 0; c < 3; ++c) expect_end(method.name, solution.reports[c], solution.x[c]);
    }
  }
}

TYPED_TEST(TrueResidualOnBackend, FromAGuessThatIsFarOff) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto a = matrices::stencil<T>({.grid = {32, 32, 1}});
  const BlockJacobi<T> M(backend, a, BlockPartition::uniform(a.rows(), 16));
  const std::vector<T> b(static_cast<std::size_t>(a.rows()), T(1));
  const LinearOperator<T> by_csr(backend, a), by_bsr(BsrMatrix<T>(backend, a, 2));
  int converged = 0, others = 0;
  for (const LinearOperator<T>& A : {by_csr, by_bsr})
    for (const auto solve : {&cg<T>, &minres<T>, &bicgstab<T>, &gmres<T>})
      for (const double start : {0.0, 1e3, 1e5})
        for (const double rtol : {1e-3, 1e-5, 1e-6, 1e-7}) {
          std::vector<T> x(b.size(), T(static_cast<real_t<T>>(start)));
          const SolveReport report = solve(A, M, b, x, limited(1000, rtol));
          expect_honest(report, rtol * report.rhs_norm, a, b, x);
          ++(report.converged() ? converged : others);
        }
  EXPECT_GT(converged, 12);
  if (is_single<T>) {
    EXPECT_GT(others, 0) << "none was too hard";
  }
}

TYPED_TEST(TrueResidualOnBackend, OfAnEnqueuedSolve) {
  using T = typename TypeParam::Scalar;
  System<T> system(this->make_backend(), matrices::stencil<T>({.grid = {32, 32, 1}}), 16);
  const std::vector<T> guess(static_cast<std::size_t>(system.matrix.rows()), T(1000));
  for (const SolveBy by : {SolveBy::cg, SolveBy::gmres})
    for (const double rtol : {1e-4, 1e-6, 1e-7}) {
      SCOPED_TRACE(::testing::Message() << to_string(by) << " to " << rtol);
      system.x.copy_from_host(guess.data());
      const SolveStatus status = system.enqueue(by, system.A, system.M, limited(400, rtol));
      expect_honest(status, status.target, system.matrix, system.b.to_host(), system.x.to_host());
    }
}

/// Every way to take a product with a CSR matrix.
TYPED_TEST(TrueResidualOnBackend, OfRowsOfAnyLengths) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto expect_all = [&](const char* name, const CsrMatrix<T>& a) {
    SCOPED_TRACE(name);
    for (const IndexBase base : {IndexBase::zero, IndexBase::one}) {
      expect_residuals_of_csr<T, std::int32_t>(backend, a, base);
      expect_residuals_of_csr<T, std::int64_t>(backend, a, base);
    }
  };
  expect_all("short", unsorted<T>(300, true, [](index_t i) { return i % 10; }));
  expect_all("long", unsorted<T>(300, true, [](index_t i) { return 40 + i % 7; }));
  expect_all("uneven", unsorted<T>(900, true, [](index_t i) { return i % 97 == 1 ? 700 : i % 11; }));
  expect_all("more entries than elements", unsorted<T>(5, true, [](index_t) { return 40; }));
}

TYPED_TEST(TrueResidualOnBackend, OfBlockRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const index_t block : {1, 2, 3, 5, 8, 17, 32}) {
    SCOPED_TRACE(block);
    const auto a = unsorted<T>(block * 13, false, [](index_t i) { return i % 10; });  // refresh() sums repeated ones
    expect_residuals(LinearOperator<T>(BsrMatrix<T>(backend, a, block)), a);
  }
}

TYPED_TEST(TrueResidualOnBackend, OfAMatrixWithoutEntriesInEitherBase) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const IndexBase base : {IndexBase::zero, IndexBase::one}) {
    const Array<std::int32_t> offsets(backend, std::vector<std::int32_t>(3, static_cast<std::int32_t>(base)));
    const CsrView<T, std::int32_t> none{2, 2, 0, offsets.data(), nullptr, nullptr, base, backend.memory_space()};
    const LinearOperator<T> A(backend, none);
    const std::vector<T> b{T(3), T(4)};
    std::vector<T> x{T(1), T(2)};
    EXPECT_EQ(this->applied(A, backend, x), std::vector<T>(2));
    EXPECT_EQ(richardson(A, {}, b, x, limited(0)).true_residual, 5.0);
  }
}

}  // namespace
}  // namespace blockjacobi::test
