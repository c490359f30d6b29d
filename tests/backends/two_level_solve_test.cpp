#include "backends/rounding.hpp"
#include "backends/two_level.hpp"
#include "matrices/generators/stencil.hpp"
#include "support/backends.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace blockjacobi::test {
namespace {

template <class Case>
class TwoLevelSolvesOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(TwoLevelSolvesOnBackend, BackendCases, BackendCaseName);

/// On 5 points, with coefficients that jump in places.
TYPED_TEST(TwoLevelSolvesOnBackend, ConjugateGradientsTakeFewerIterations) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const double contrast : {1.0, 1000.0}) {
    SCOPED_TRACE(contrast);
    const auto host_matrix = matrices::stencil<T>({.grid = {96, 96, 1}, .contrast = contrast, .phase = 0.0});
    const SparseMatrix<T> matrix(backend, host_matrix);
    const LinearOperator<T> A(matrix);
    const auto blocks = BlockPartition::uniform(host_matrix.rows(), 8);
    const std::vector<T> b = product(host_matrix, random_vector<T>(host_matrix.rows(), 52));
    const BlockJacobi<T> plain(matrix, blocks);
    const SolveOptions options = reachable<T>();
    const auto iterations = [&](auto solver, const Preconditioner<T>& M) {
      std::vector<T> x = random_vector<T>(host_matrix.rows(), 53);
      const SolveReport report = solver(A, M, b, x, options);
      expect_solved(report, host_matrix, b, x, options.rtol);
      return report.iterations;
    };
    const auto by_cg = [](auto&&... arguments) { return cg(arguments...); };
    const auto by_fcg = [](auto&&... arguments) { return fcg(arguments...); };
    const auto by_minres = [](auto&&... arguments) { return minres(arguments...); };
    const index_t alone = iterations(by_cg, plain);

    const TwoLevel<T> additive(matrix, BlockJacobi<T>(matrix, blocks), {.mode = CoarseMode::additive});
    const TwoLevel<T> deflated(matrix, BlockJacobi<T>(matrix, blocks));
    EXPECT_EQ(deflated.report().mode, CoarseMode::adef2);
    EXPECT_GE(deflated.report().size, 107);  // of sqrt(nnz) = 214
    EXPECT_LE(deflated.report().size, 214);
    const index_t with_sum = iterations(by_cg, additive), with_deflation = iterations(by_cg, deflated);
    EXPECT_LE(with_sum, (to_eight_digits<T> ? 0.6 : 0.8) * alone);
    EXPECT_LE(with_deflation, (to_eight_digits<T> ? 0.4 : 0.7) * alone);
    EXPECT_LE(iterations(by_fcg, deflated), with_deflation + 2);
    EXPECT_LE(iterations(by_minres, additive), with_sum + 5);

    const Array<T> right(backend, b);
    Array<T> x(backend, random_vector<T>(host_matrix.rows(), 53));
    Array<SolveStatus> status(backend, 1);
    SolveOptions few = options;
    few.max_iterations = with_deflation + 10;
    CgWorkspace<T> workspace(A, deflated, few);
    cg_enqueue(workspace, right.view(), x.view(), status.data());
    EXPECT_EQ(status.to_host()[0].reason, StopReason::converged);
    EXPECT_LE(residual(host_matrix, b, x.to_host()), options.rtol * (1 + 1e-3));
  }
}

TYPED_TEST(TwoLevelSolvesOnBackend, NonsymmetricSystemsTakeFewerIterations) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  std::vector<Triplet<T>> entries = grid_entries<T>(60, 0.1);
  for (Triplet<T>& entry : entries)
    if (entry.row == entry.col) entry.value -= T(static_cast<real_t<T>>(is_complex<T> ? 0.0 : 0.19));
  const auto host_matrix = CsrMatrix<T>::from_triplets(3600, 3600, entries);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const LinearOperator<T> A(matrix);
  const auto blocks = BlockPartition::uniform(host_matrix.rows(), 6);
  const std::vector<T> b = product(host_matrix, random_vector<T>(host_matrix.rows(), 54));
  const SolveOptions options = reachable<T>();
  const auto iterations = [&](auto solver, const Preconditioner<T>& M) {
    std::vector<T> x(b.size());
    const SolveReport report = solver(A, M, b, x, options);
    expect_solved(report, host_matrix, b, x, options.rtol);
    return report.iterations;
  };
  const BlockJacobi<T> plain(matrix, blocks);
  const TwoLevel<T> deflated(matrix, BlockJacobi<T>(matrix, blocks), {.mode = CoarseMode::adef1});
  const auto by_gmres = [](auto&&... arguments) { return gmres(arguments...); };
  const auto by_fgmres = [](auto&&... arguments) { return fgmres(arguments...); };
  const auto by_bicgstab = [](auto&&... arguments) { return bicgstab(arguments...); };
  const double share = is_complex<T>        ? 1.0
                       : to_eight_digits<T> ? 0.6
                                            : 0.7;  // the phases of the complex one are not near to ones
  EXPECT_LE(iterations(by_gmres, deflated), share * iterations(by_gmres, plain));
  EXPECT_LE(iterations(by_fgmres, deflated), share * iterations(by_fgmres, plain));
  EXPECT_LE(iterations(by_bicgstab, deflated), share * iterations(by_bicgstab, plain) + 1);  // rounding moves it by one
}

/// A line of springs of 1 to 100, held at one end: the spectrum under blocks has a gap around 1, where the recurrence
/// makes what rounding leaves of Z^H r grow, until M is not Hermitian for r any more.
TYPED_TEST(TwoLevelSolvesOnBackend, BeginsAnewWhereRoundingLeavesTheDeflatedSpace) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const index_t n = 5000;
  std::vector<Triplet<T>> entries{{0, 0, T(1)}};
  for (index_t i = 0; i + 1 < n; ++i) {
    const T spring(static_cast<real_t<T>>(std::pow(100.0, std::fmod(0.618034 * i, 1.0))));
    entries.insert(entries.end(), {{i, i, spring}, {i + 1, i + 1, spring}, {i, i + 1, -spring}, {i + 1, i, -spring}});
  }
  const auto host_matrix = CsrMatrix<T>::from_triplets(n, n, entries);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const LinearOperator<T> A(matrix);
  const auto blocks = BlockPartition::uniform(n, 4);
  const BlockJacobi<T> plain(matrix, blocks);
  const TwoLevel<T> deflated(matrix, BlockJacobi<T>(matrix, blocks), {.size = 16});
  SolveOptions options = reachable<T>();
  options.max_iterations = 4000;

  const index_t columns = 2;
  std::vector<T> all;
  index_t most = 0;
  for (index_t c = 0; c < columns; ++c) {
    SCOPED_TRACE(c);
    const std::vector<T> b = product(host_matrix, random_vector<T>(n, 57 + static_cast<std::uint64_t>(c)));
    all.insert(all.end(), b.begin(), b.end());
    const auto iterations = [&](auto solver, const Preconditioner<T>& M) {
      std::vector<T> x(b.size());
      const SolveReport report = solver(A, M, b, x, options);
      expect_solved(report, host_matrix, b, x, options.rtol);
      return report.iterations;
    };
    const auto by_cg = [](auto&&... arguments) { return cg(arguments...); };
    const auto by_fcg = [](auto&&... arguments) { return fcg(arguments...); };
    const double share = to_eight_digits<T> ? 0.9 : 1.2;
    const index_t alone = iterations(by_cg, plain);
    EXPECT_LE(iterations(by_cg, deflated), share * alone);
    EXPECT_LE(iterations(by_fcg, deflated), share * alone);
    most = std::max(most, static_cast<index_t>(share * alone));
  }
  std::vector<T> x(all.size());
  const auto space = MemorySpace::host;
  for (const SolveReport& report : cg_columns(A, deflated, {all.data(), n, columns, n, Layout::column_major, space},
                                              {x.data(), n, columns, n, Layout::column_major, space}, options)) {
    EXPECT_EQ(report.reason, StopReason::converged) << to_text(report);
    EXPECT_LE(report.iterations, most);
  }
}

/// cg() looks where it has gone long without a halving of the residual, cg_enqueue() cannot: their x are the same.
TYPED_TEST(TwoLevelSolvesOnBackend, LooksChangeNothingWhereThereIsNoDrift) {
  using T = typename TypeParam::Scalar;
  if (!to_eight_digits<T>) return;
  const Backend backend = this->make_backend();
  const auto host_matrix = matrices::stencil<T>({.grid = {40, 40, 1}, .contrast = 1e10, .phase = 0.0});
  const SparseMatrix<T> matrix(backend, host_matrix);
  const LinearOperator<T> A(matrix);
  const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(host_matrix.rows(), 4)), {.size = 16});
  const Array<T> b(backend, product(host_matrix, random_vector<T>(host_matrix.rows(), 58)));
  Array<T> x(backend, std::vector<T>(b.size())), enqueued(backend, std::vector<T>(b.size()));
  Array<SolveStatus> status(backend, 1);
  SolveOptions options;
  options.rtol = 0.0;
  options.max_iterations = 2000;
  options.history = true;
  options.resident = Resident::never;  // which would be told of batches
  const SolveReport report = cg(A, M, b.view(), x.view(), options);
  index_t longest = 0, halved_at = 0;
  for (std::size_t i = 0; i < report.history.size(); ++i) {
    const auto at = static_cast<index_t>(i);
    if (report.history[i] < 0.5 * report.history[static_cast<std::size_t>(halved_at)]) halved_at = at;
    longest = std::max(longest, at - halved_at);
  }
  EXPECT_GT(longest, 120);
  CgWorkspace<T> workspace(A, M, options);
  cg_enqueue(workspace, b.view(), enqueued.view(), status.data());
  EXPECT_EQ(x.to_host(), enqueued.to_host());
}

/// Z^H (b - A x) = 0 from the beginning under adef2.
TYPED_TEST(TwoLevelSolvesOnBackend, BeginsWithoutCoarseResidual) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> host_matrix = grid_matrix<T>(20);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const LinearOperator<T> A(matrix);
  const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(host_matrix.rows(), 5)), {.size = 16});
  const std::vector<T> b = random_vector<T>(host_matrix.rows(), 55), x0 = random_vector<T>(host_matrix.rows(), 56);
  SolveOptions options;
  options.max_iterations = 0;
  options.rtol = 0.0;
  const auto coarse_part = [&](const std::vector<T>& x) {
    std::vector<T> r = product(host_matrix, x);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
    Array<T> in(backend, r), out(backend, r.size());
    M.correct(std::as_const(in).view(), out.view());
    return norm(out.to_host());
  };
  // What two residuals are off by goes through Z (Z^H A Z)^-1 Z^H <= A^-1 <= 1 / least, by how much the diagonal is
  // dominant. The inverse of order N leaves N eps times its condition, which is at most that of A. (Higham, chapter 14)
  const double least = 2.2 - 2 * std::abs(std::complex(1.0, is_complex<T> ? 0.3 : 0.0));
  const auto tolerance = [&](const std::vector<T>& x) {
    const double residuals = norm(rounding_of_rows(host_matrix, x0, b)) + norm(rounding_of_rows(host_matrix, x, b));
    return residuals / 2 / least + M.report().size * epsilon<T>() * (8.4 - least) / least * coarse_part(x0);
  };
  std::vector<T> x = x0;
  EXPECT_EQ(cg(A, M, b, x, options).reason, StopReason::max_iterations);
  EXPECT_GT(coarse_part(x0), 100 * tolerance(x0));
  EXPECT_LE(coarse_part(x), tolerance(x));

  const Array<T> right(backend, b), zero(backend, std::vector<T>(b.size()));
  Array<T> solution(backend, x0);
  Array<SolveStatus> status(backend, 1);
  CgWorkspace<T> workspace(A, M, options);
  cg_enqueue(workspace, right.view(), solution.view(), status.data());
  EXPECT_LE(coarse_part(solution.to_host()), tolerance(solution.to_host()));

  // b = 0 has ended the solve before
  cg_enqueue(workspace, zero.view(), solution.view(), status.data());
  EXPECT_EQ(solution.to_host(), std::vector<T>(b.size()));
  EXPECT_EQ(status.to_host()[0].reason, StopReason::converged);
  x = x0;
  EXPECT_EQ(cg(A, M, std::vector<T>(b.size()), x, options).reason, StopReason::converged);
  EXPECT_EQ(x, std::vector<T>(b.size()));
}

}  // namespace
}  // namespace blockjacobi::test
