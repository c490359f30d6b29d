#include "matrices/generators.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <vector>

// What `converged` promises on the host: the residual of x itself, not of its products in single precision.
namespace blockjacobi::test {
namespace {

template <class T>
using Wide = std::conditional_t<is_complex<T>, std::complex<long double>, long double>;

/// ||b - A x|| in long double.
template <Scalar T>
double exact_residual(const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  long double sum = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    Wide<T> r(b[i]);
    for (auto k = static_cast<std::size_t>(a.row_offsets()[i]); k < static_cast<std::size_t>(a.row_offsets()[i + 1]);
         ++k)
      r -= Wide<T>(a.values()[k]) * Wide<T>(x[static_cast<std::size_t>(a.columns()[k])]);
    sum += std::norm(r);
  }
  return static_cast<double>(std::sqrt(sum));
}

SolveOptions limited(index_t iterations, double rtol = 1e-8) {
  SolveOptions options;
  options.max_iterations = iterations;
  options.rtol = rtol;
  return options;
}

template <class T>
class TrueResidual : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(TrueResidual, Scalars);

/// The report holds the residual of x, and converged means that it is small enough.
template <Scalar T>
void expect_honest(const SolveReport& report, double target, const CsrMatrix<T>& a, const std::vector<T>& b,
                   const std::vector<T>& x) {
  const double exact = exact_residual(a, b, x), rounding = 1e-13 * report.initial_residual;
  EXPECT_NEAR(report.true_residual, exact, 1e-6 * exact + rounding);
  if (report.converged()) {
    EXPECT_LE(exact, target * (1 + 1e-6) + rounding);
  }
}

TYPED_TEST(TrueResidual, AThirdInSinglePrecisionIsNotSolvedTo1e8) {
  using T = TypeParam;
  const auto a = CsrMatrix<T>::from_triplets(1, 1, std::vector<Triplet<T>>{{0, 0, T(3)}});
  const Backend backend = Backend::host(1);
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> M(backend, a, BlockPartition::uniform(1, 1));
  const bool single = sizeof(real_t<T>) == sizeof(float);
  for (const auto solve : {&cg<T>, &fcg<T>, &minres<T>, &bicgstab<T>, &gmres<T>, &fgmres<T>, &richardson<T>}) {
    const std::vector<T> b{T(1)};
    std::vector<T> x(1);
    const SolveReport report = solve(A, M, b, x, {});
    EXPECT_EQ(report.converged(), !single) << to_string(report.reason);
    expect_honest(report, 1e-8, a, b, x);
  }
}

TYPED_TEST(TrueResidual, FromAGuessThatIsFarOff) {
  using T = TypeParam;
  const auto a = matrices::stencil<T>({.grid = {48, 48, 1}});
  const Backend backend = Backend::host(2);
  const BlockJacobi<T> M(backend, a, BlockPartition::uniform(a.rows(), 16));
  const std::vector<T> b(static_cast<std::size_t>(a.rows()), T(1));
  const LinearOperator<T> by_csr(backend, a), by_bsr(BsrMatrix<T>(backend, a, 2));
  int converged = 0, others = 0;
  for (const LinearOperator<T>& A : {by_csr, by_bsr})
    for (const auto solve : {&cg<T>, &minres<T>, &bicgstab<T>, &gmres<T>})
      for (const double start : {0.0, 1e3, 1e5})
        for (const double rtol : {1e-3, 1e-5, 1e-6, 1e-7}) {
          std::vector<T> x(b.size(), T(static_cast<real_t<T>>(start)));
          const SolveReport report = solve(A, M, b, x, limited(3000, rtol));
          expect_honest(report, rtol * report.rhs_norm, a, b, x);
          ++(report.converged() ? converged : others);
        }
  EXPECT_GT(converged, 12);
  if (sizeof(real_t<T>) == sizeof(float)) {
    EXPECT_GT(others, 0) << "none was too hard";
  }
}

TYPED_TEST(TrueResidual, OfAnEnqueuedSolve) {
  using T = TypeParam;
  const auto a = matrices::stencil<T>({.grid = {32, 32, 1}});
  const Backend backend = Backend::host(1);
  const LinearOperator<T> A(backend, a);
  const BlockJacobi<T> M(backend, a, BlockPartition::uniform(a.rows(), 16));
  const std::vector<T> b(static_cast<std::size_t>(a.rows()), T(1));
  for (const double rtol : {1e-4, 1e-6, 1e-7}) {
    std::vector<T> x(b.size(), T(1000));
    SolveStatus status;
    CgWorkspace<T> workspace(A, M, limited(400, rtol));
    cg_enqueue(workspace, b, x, &status);
    const double exact = exact_residual(a, b, x);
    EXPECT_NEAR(status.true_residual, exact, 1e-6 * exact + 1e-13 * status.initial_residual);
    if (status.reason == StopReason::converged) {
      EXPECT_LE(exact, status.target * (1 + 1e-6) + 1e-13 * status.initial_residual);
    }
  }
}

TYPED_TEST(TrueResidual, OfAMatrixInEitherBase) {
  using T = TypeParam;
  for (const IndexBase base : {IndexBase::zero, IndexBase::one}) {
    const auto first = static_cast<std::int32_t>(base);
    const std::vector<std::int32_t> offsets{first, first + 2, first + 3};
    const std::vector<index_t> columns{first, first + 1, first};
    const std::vector<T> values{T(2), T(3), T(5)}, x{T(1), T(10)};
    const LinearOperator<T> A(Backend::host(1), CsrView<T, std::int32_t>{2, 2, 3, offsets.data(), columns.data(),
                                                                         values.data(), base, MemorySpace::host});
    std::vector<T> y(2), guess = x;
    A.apply(x, y);
    EXPECT_EQ(y, (std::vector<T>{T(32), T(5)}));
    const std::vector<T> rhs{T(35), T(9)};
    EXPECT_EQ(richardson(A, {}, rhs, guess, limited(0)).true_residual, 5.0);
  }
}

TYPED_TEST(TrueResidual, OfAMatrixWithoutEntriesInEitherBase) {
  using T = TypeParam;
  for (const IndexBase base : {IndexBase::zero, IndexBase::one}) {
    const auto first = static_cast<std::int32_t>(base);
    const std::vector<std::int32_t> offsets(3, first);
    const CsrView<T, std::int32_t> none{2, 2, 0, offsets.data(), nullptr, nullptr, base, MemorySpace::host};
    const LinearOperator<T> A(Backend::host(1), none);
    const std::vector<T> b{T(3), T(4)};
    std::vector<T> x{T(1), T(2)}, y(2, T(7));
    A.apply(x, y);
    EXPECT_EQ(y, std::vector<T>(2));
    EXPECT_EQ(richardson(A, {}, b, x, limited(0)).true_residual, 5.0);
  }
}

}  // namespace
}  // namespace blockjacobi::test
