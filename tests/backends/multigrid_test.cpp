#include "backend/backend_impl.hpp"
#include "backends/two_level.hpp"
#include "matrices/generators/elasticity.hpp"
#include "matrices/generators/stencil.hpp"
#include "support/backends.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"

#include <Eigen/Eigenvalues>

#include <algorithm>
#include <cmath>
#include <functional>

namespace blockjacobi::test {
namespace {

template <class Case>
class MultigridOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(MultigridOnBackend, BackendCases, BackendCaseName);

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

template <Scalar T>
Multigrid<T> scalar_multigrid(const SparseMatrix<T>& matrix, const MultigridOptions& options) {
  return {matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(matrix.rows(), 1)), options};
}

template <Scalar T>
WideDense<T> preconditioner(const Multigrid<T>& M) {
  return dense_of<T>(M.backend(), M.rows(), [&](auto r, auto z) { M.apply(r, z); });
}

/// Z of ones on the aggregates that the set-up finds.
template <Scalar T>
WideDense<T> ones_on_aggregates(const SparseMatrix<T>& matrix) {
  const detail::Aggregates found =
      detail::coarse_ops<T>(matrix.backend())
          .neighbourhoods(matrix.backend(), matrix.view(), BlockPartition::uniform(matrix.rows(), 1), 0.25);
  const std::vector<index_t> of_row = found.of_row.to_host();
  WideDense<T> z = WideDense<T>::Zero(matrix.rows(), found.count);
  for (index_t i = 0; i < matrix.rows(); ++i) z(i, of_row[static_cast<std::size_t>(i)]) = 1;
  return z;
}

/// I - B A = (I - w D^-1 A) (I - P E^-1 P^H A) (I - w D^-1 A), with P = (I - w D^-1 A) Z.
TYPED_TEST(MultigridOnBackend, CycleIsThatOfItsFormula) {
  using T = typename TypeParam::Scalar;
  using W = typename Wide<T>::type;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> host_matrix = grid_matrix<T>(12);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const Multigrid<T> M = scalar_multigrid(matrix, {.coarsest = 40});
  const MultigridReport report = M.report();
  ASSERT_EQ(report.levels.size(), 2u);
  EXPECT_EQ(report.levels[0].rows, 144);
  EXPECT_EQ(report.levels[0].nnz, static_cast<offset_t>(host_matrix.values().size()));
  EXPECT_EQ(report.levels[1].relaxation, 0.0);
  EXPECT_GT(report.bytes, host_matrix.values().size_bytes());
  EXPECT_TRUE(report.is_finite && !report.is_singular);

  const WideDense<T> a = dense(host_matrix), z = ones_on_aggregates(matrix);
  ASSERT_EQ(report.levels[1].rows, static_cast<index_t>(z.cols()));
  // of D^-1 A, as M has blocks of one row; the largest eigenvalue of -1, -1, 4, -1, -1 over 4 is below 2
  const double w = report.levels[0].relaxation;
  EXPECT_GE(w, 2.0 / 3.0);
  EXPECT_LE(w, 0.9);
  const WideDense<T> identity = WideDense<T>::Identity(a.rows(), a.cols());
  WideDense<T> smoothing = a;
  for (index_t i = 0; i < a.rows(); ++i) smoothing.row(i) *= W(w) / a(i, i);
  smoothing = identity - smoothing;
  const WideDense<T> p = product(smoothing, z);
  const WideDense<T> e = adjoint_product(p, product(a, p));
  const WideDense<T> coarse = product(p, product(inverse_of(e), WideDense<T>(p.adjoint())));
  const WideDense<T> error = product(smoothing, product(WideDense<T>(identity - product(coarse, a)), smoothing));
  expect_near<T>(preconditioner(M), product(WideDense<T>(identity - error), inverse_of(a)), 1000);
}

/// Of the symmetrized product B A: of A^1/2 B A^1/2.
template <Scalar T>
Eigen::VectorXd eigenvalues_of_product(const WideDense<T>& b, const WideDense<T>& a) {
  using D = std::conditional_t<is_complex<T>, std::complex<double>, double>;
  const Dense<D> l = Dense<D>(Eigen::LLT<Dense<D>>(a.template cast<D>()).matrixL());
  const Dense<D> symmetric = l.adjoint() * b.template cast<D>() * l;
  return Eigen::SelfAdjointEigenSolver<Dense<D>>(symmetric).eigenvalues();
}

/// Hermitian and definite, with blocks of any order, any number of levels, and coefficients that jump.
TYPED_TEST(MultigridOnBackend, IsHermitianAndDefinite) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto check = [&](const CsrMatrix<T>& host_matrix, std::optional<index_t> nodes, const BlockPartition& blocks,
                         const MultigridOptions& options, std::size_t levels) {
    const SparseMatrix<T> matrix(backend, host_matrix, {.block_size = nodes});
    const Multigrid<T> M(matrix, BlockJacobi<T>(matrix, blocks), options);
    EXPECT_EQ(M.report().levels.size(), levels) << to_text(M.report());
    const WideDense<T> b = preconditioner(M);
    expect_near<T>(b, WideDense<T>(b.adjoint()), 1000);
    const Eigen::VectorXd values = eigenvalues_of_product<T>(b, dense(host_matrix));
    EXPECT_GT(values.minCoeff(), 0.05);
    // 1 but for what the matrices of other levels round
    EXPECT_LE(values.maxCoeff(), 1.0 + 1000 * epsilon<T>());
  };
  check(grid_matrix<T>(18), {}, BlockPartition::uniform(324, 1), {.coarsest = 10}, 3);
  check(grid_matrix<T>(18), {}, BlockPartition::uniform(324, 6), {.coarsest = 60}, 2);
  const auto nodes = matrices::stencil<T>({.grid = {9, 7, 1}, .unknowns = 3});
  check(nodes, 3, BlockPartition::uniform(nodes.rows(), 6), {.coarsest = 20}, 3);
  const auto jumps = matrices::stencil<T>({.grid = {7, 7, 6}, .contrast = 1000.0});
  check(jumps, {}, BlockPartition::uniform(jumps.rows(), 7), {.coarsest = 20}, 3);
}

/// Where block-Jacobi takes twice the iterations on twice the points in each direction.
TYPED_TEST(MultigridOnBackend, IterationsHardlyGrowWithTheGrid) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SolveOptions options = reachable<T>();
  for (const index_t m : {40, 80}) {
    const CsrMatrix<T> host_matrix = grid_matrix<T>(m);
    const SparseMatrix<T> matrix(backend, host_matrix);
    const LinearOperator<T> A(matrix);
    const Multigrid<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(m * m, 4)));
    const std::vector<T> b = product(host_matrix, random_vector<T>(m * m, 81));
    std::vector<T> x(b.size());
    const SolveReport solve = cg(A, M, b, x, options);
    expect_solved(solve, host_matrix, b, x, options.rtol);
    EXPECT_LE(solve.iterations, to_eight_digits<T> ? 20 : 10);
    for (const auto& other : {minres<T>, gmres<T>, fcg<T>}) {
      std::ranges::fill(x, T(0));
      const SolveReport report = other(A, M, b, x, options);
      EXPECT_EQ(report.reason, StopReason::converged) << to_text(report);
      EXPECT_LE(report.iterations, solve.iterations + 3);
    }
  }
}

/// Rigid body modes of a beam; ones for each displacement leave its bending to the iterations.
TYPED_TEST(MultigridOnBackend, VectorsOfTheUser) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  constexpr index_t nx = 24, ny = 4, nz = 4;
  const auto host_matrix = matrices::elasticity<T>({.elements = {nx, ny, nz}});
  const index_t n = host_matrix.rows();
  std::vector<double> points;
  for (index_t z = 0; z <= nz; ++z)
    for (index_t y = 0; y <= ny; ++y)
      for (index_t x = 1; x <= nx; ++x) points.insert(points.end(), {double(x), double(y), double(z)});
  const NearKernel<T> modes = rigid_body_modes<T>(points, 3);
  const SparseMatrix<T> matrix(backend, host_matrix, {.block_size = 3});
  const auto blocks = BlockPartition::uniform(n, 3);
  const MultigridOptions options{.coarsest = 100};
  const Multigrid<T> with(matrix, BlockJacobi<T>(matrix, blocks), modes.view(), options);
  const Multigrid<T> without(matrix, BlockJacobi<T>(matrix, blocks), options);
  EXPECT_GE(with.report().levels.size(), 3u) << to_text(with.report());
  const std::vector<T> b = product(host_matrix, random_vector<T>(n, 82));
  const SolveOptions solve = reachable<T>();
  const auto iterations = [&](const Multigrid<T>& M) {
    std::vector<T> x(b.size());
    const SolveReport report = cg(LinearOperator<T>(matrix), M, b, x, solve);
    expect_solved(report, host_matrix, b, x, solve.rtol);
    return report.iterations;
  };
  EXPECT_LT(2 * iterations(with), iterations(without));
}

/// Where nobody knows the near-kernel: of D A D with D of random signs.
TYPED_TEST(MultigridOnBackend, RelaxedVectorsFindTheNearKernel) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  constexpr index_t m = 50;
  CsrMatrix<T> host_matrix = grid_matrix<T>(m);
  Random random(88);
  std::vector<T> signs(m * m);
  for (T& sign : signs) sign = random.index(2) == 0 ? T(1) : T(-1);
  for (index_t i = 0; i < m * m; ++i)
    for (auto k = static_cast<std::size_t>(host_matrix.row_offsets()[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(host_matrix.row_offsets()[static_cast<std::size_t>(i) + 1]); ++k)
      host_matrix.values()[k] *=
          signs[static_cast<std::size_t>(i)] * signs[static_cast<std::size_t>(host_matrix.columns()[k])];
  const SparseMatrix<T> matrix(backend, host_matrix);
  const std::vector<T> b = product(host_matrix, random_vector<T>(m * m, 89));
  const SolveOptions options = reachable<T>();
  const auto iterations = [&](index_t relaxed) {
    const Multigrid<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(m * m, 4)), {.relaxed = relaxed});
    std::vector<T> x(b.size());
    const SolveReport report = cg(LinearOperator<T>(matrix), M, b, x, options);
    expect_solved(report, host_matrix, b, x, options.rtol);
    return report.iterations;
  };
  EXPECT_LT(iterations(2), iterations(0));
}

/// As codes that assemble leave it: entries off by some epsilons of the diagonal, and others that should be zero.
template <Scalar T>
CsrMatrix<T> assembled_grid(index_t m, double error) {
  std::vector<Triplet<T>> entries = grid_entries<T>(m, 0.0);
  Random random(90);
  const auto rounded = [&] { return random.scalar<T>() * T(static_cast<real_t<T>>(error)); };
  for (Triplet<T>& e : entries)
    if (e.row != e.col) e.value += rounded();
  for (index_t i = 0; i + 30 < m * m; ++i) entries.push_back({i, i + 30, rounded()});
  return CsrMatrix<T>::from_triplets(m * m, m * m, entries);
}

/// Ones, and relaxed vectors, which CG then finds as well.
TYPED_TEST(MultigridOnBackend, IsHermitianButForRounding) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  constexpr index_t m = 40;
  const auto blocks = BlockPartition::uniform(m * m, 4);
  const CsrMatrix<T> exact = assembled_grid<T>(m, 0.0), rounded = assembled_grid<T>(m, 10 * epsilon<T>());
  ASSERT_FALSE(SparseMatrix<T>(backend, rounded).is_hermitian());
  ASSERT_TRUE(SparseMatrix<T>(backend, exact).is_hermitian());
  const std::vector<T> b = product(exact, random_vector<T>(m * m, 91));
  const SolveOptions options = reachable<T>();
  for (const index_t relaxed : {0, 2}) {
    const auto iterations = [&](const CsrMatrix<T>& host_matrix) {
      const SparseMatrix<T> matrix(backend, host_matrix);
      const Multigrid<T> M(matrix, BlockJacobi<T>(matrix, blocks), {.relaxed = relaxed});
      std::vector<T> x(b.size());
      const SolveReport report = cg(LinearOperator<T>(matrix), M, b, x, options);
      expect_solved(report, host_matrix, b, x, options.rtol);
      return report.iterations;
    };
    EXPECT_NEAR(iterations(rounded), iterations(exact), 1) << relaxed;
  }

  const auto refusal = [&](const CsrMatrix<T>& host_matrix, const SparseMatrixOptions& stated) {
    const SparseMatrix<T> matrix(backend, host_matrix, stated);
    return message_of([&] { Multigrid<T>(matrix, BlockJacobi<T>(matrix, blocks)); });
  };
  const double too_much = to_eight_digits<T> ? 1e-6 : 1e-3;
  const std::string message = refusal(assembled_grid<T>(m, too_much), {});
  EXPECT_TRUE(contains(message, is_complex<T> ? "not Hermitian" : "not symmetric")) << message;
  EXPECT_TRUE(contains(message, to_eight_digits<T> ? "2.2e-13" : "1.2e-04")) << message;
  EXPECT_TRUE(contains(message, "symmetry_tolerance")) << message;
  EXPECT_EQ(refusal(assembled_grid<T>(m, too_much), {.symmetry_tolerance = too_much}), "no InvalidArgument");
  EXPECT_EQ(refusal(rounded, {.symmetry_tolerance = epsilon<T>() / 100}), "no InvalidArgument");
  EXPECT_NE(refusal(rounded, {.symmetry = Symmetry::none}), "no InvalidArgument") << "as stated";
  if constexpr (is_complex<T>) {
    EXPECT_NE(refusal(rounded, {.symmetry = Symmetry::symmetric}), "no InvalidArgument");
    std::vector<Triplet<T>> entries;  // as the Helmholtz equation has it
    for (index_t i = 0; i < m * m; ++i) {
      entries.push_back({i, i, T(4, 1)});
      if (i > 0) entries.insert(entries.end(), {{i, i - 1, T(-1)}, {i - 1, i, T(-1)}});
    }
    EXPECT_TRUE(contains(refusal(CsrMatrix<T>::from_triplets(m * m, m * m, entries), {}), "not Hermitian"));
  }
}

/// The same bits for the same values; recorded and replayed, too.
TYPED_TEST(MultigridOnBackend, RefreshTakesTheValuesOfTheMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> first = grid_matrix<T>(30), second = rescaled(first);
  const std::vector<T> b = random_vector<T>(first.rows(), 83);
  SparseMatrix<T> matrix(backend, first);
  Multigrid<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(first.rows(), 6)), {.coarsest = 20});
  EXPECT_GE(M.report().levels.size(), 3u);
  const std::vector<T> of_first = this->applied(M, backend, b);
  matrix.update_values(second.values());
  M.refresh();
  const std::vector<T> of_second = this->applied(M, backend, b);
  EXPECT_FALSE(same_bits(of_first, of_second));
  // D A D with powers of two: Z is another one, but relaxations hold
  std::vector<T> x(b.size());
  const SolveOptions options = reachable<T>();
  const SolveReport solve = cg(LinearOperator<T>(matrix), M, b, x, options);
  expect_solved(solve, second, b, x, options.rtol);

  Array<T> in(backend, b), out(backend, b.size());
  const auto recording = backend.impl().record(
      [&] {
        M.refresh();
        M.apply(std::as_const(in).view(), out.view());
      },
      true);
  matrix.update_values(first.values());
  recording->replay();
  EXPECT_TRUE(same_bits(out.to_host(), of_first));
  matrix.update_values(second.values());
  recording->replay();
  EXPECT_TRUE(same_bits(out.to_host(), of_second));
}

/// Levels and the cycle are those of the host: ones for each unknown, vectors of which some depend on others, blocks of
/// mixed orders, offsets of 64 bits from base 1, and more than 65 536 rows.
TYPED_TEST(MultigridOnBackend, SetUpIsThatOfTheHost) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend(), host = Backend::host();
  const auto check = [&](const auto& matrix_on, const BlockPartition& blocks, const MultigridOptions& options,
                         const std::vector<T>& vectors) {
    const auto on = [&](const Backend& where) {
      const SparseMatrix<T> matrix = matrix_on(where);
      BlockJacobi<T> M(matrix, blocks);
      if (vectors.empty()) return Multigrid<T>(matrix, std::move(M), options);
      const index_t n = matrix.rows();
      const auto count = static_cast<index_t>(vectors.size() / static_cast<std::size_t>(n));
      return Multigrid<T>(matrix, std::move(M), MultiVectorView<const T>{vectors.data(), n, count, n}, options);
    };
    const Multigrid<T> found = on(backend), expected = on(host);
    const MultigridReport f = found.report(), e = expected.report();
    ASSERT_EQ(f.levels.size(), e.levels.size());
    EXPECT_GE(f.levels.size(), 3u) << to_text(f);
    // On a device couplings of coarser levels that are the same but for single precision may tie another way.
    const bool is_exact = backend.kind() == BackendKind::host || sizeof(real_t<T>) == sizeof(double);
    for (std::size_t l = 0; l < f.levels.size(); ++l) {
      EXPECT_EQ(f.levels[l].rows, e.levels[l].rows);
      const double ties = is_exact || l < 2 ? 0.0 : 0.01;
      EXPECT_NEAR(static_cast<double>(f.levels[l].nnz), static_cast<double>(e.levels[l].nnz),
                  ties * static_cast<double>(e.levels[l].nnz));
      EXPECT_NEAR(f.levels[l].relaxation, e.levels[l].relaxation, 1000 * epsilon<T>());
    }
    EXPECT_NEAR(f.rcond, e.rcond, 0.01 * e.rcond);
    const std::vector<T> r = random_vector<T>(found.rows(), 84);
    const auto applied = [&](const Multigrid<T>& M) {
      const Array<T> in(M.backend(), r);
      Array<T> out(M.backend(), r.size());
      M.apply(in.view(), out.view());
      return out.to_host();
    };
    const std::vector<T> u = applied(found), v = applied(expected);
    std::vector<T> difference(u.size());
    std::ranges::transform(u, v, difference.begin(), std::minus<>{});
    EXPECT_LE(norm(difference), 100 * epsilon<T>() / e.rcond * norm(v));
  };
  // Drawn coefficients: equal couplings tie one way or another by rounding, and other aggregates make another cycle.
  constexpr double contrast = 10.0;
  const auto grid = matrices::stencil<T>({.grid = {30, 30, 1}, .contrast = contrast});
  const auto uploaded = [](const CsrMatrix<T>& a, const SparseMatrixOptions& stated) {
    return [&a, stated](const Backend& where) { return SparseMatrix<T>(where, a, stated); };
  };
  check(uploaded(grid, {}), BlockPartition::uniform(900, 7), {.coarsest = 20}, {});
  const auto nodes = matrices::stencil<T>({.grid = {14, 9, 1}, .contrast = contrast, .unknowns = 3});
  const std::vector<T> random = random_vector<T>(3 * nodes.rows(), 85);
  std::vector<T> dependent(random);
  for (index_t i = 0; i < nodes.rows(); ++i)
    dependent[static_cast<std::size_t>(i + 2 * nodes.rows())] =
        dependent[static_cast<std::size_t>(i)] - T(3) * dependent[static_cast<std::size_t>(i + nodes.rows())];
  const MultigridOptions small{.coarsest = 24};
  check(uploaded(nodes, {.block_size = 3}), BlockPartition::uniform(nodes.rows(), 6), small, {});
  check(uploaded(nodes, {}), BlockPartition::from_offsets({0, 5, 6, 40, 72, 200, nodes.rows()}), small, random);
  check(uploaded(nodes, {.block_size = 3}), BlockPartition::uniform(nodes.rows(), 9), small, dependent);
  // 14 columns an aggregate: rows of P are long.
  check(uploaded(grid, {}), BlockPartition::uniform(900, 5), small, random_vector<T>(14 * 900, 87));
  const auto large = matrices::stencil<T>({.grid = {70, 40, 30}, .contrast = contrast});
  check(uploaded(large, {}), BlockPartition::uniform(large.rows(), 8), {}, {});

  std::vector<std::int64_t> offsets;
  for (const offset_t k : grid.row_offsets()) offsets.push_back(k + 1);
  std::vector<index_t> columns;
  for (const index_t j : grid.columns()) columns.push_back(j + 1);
  std::vector<T> values(grid.values().begin(), grid.values().end());
  const auto adopted = [&](const Backend& where) {
    struct Arrays {
      Array<std::int64_t> offsets;
      Array<index_t> columns;
      Array<T> values;
    };
    const auto arrays = std::make_shared<Arrays>(Arrays{{where, offsets}, {where, columns}, {where, values}});
    const CsrView<T, std::int64_t> view{900,
                                        900,
                                        static_cast<offset_t>(values.size()),
                                        arrays->offsets.data(),
                                        arrays->columns.data(),
                                        arrays->values.data(),
                                        IndexBase::one,
                                        where.memory_space()};
    const auto matrix = SparseMatrix<T>::adopt(where, view, {}, arrays);
    EXPECT_TRUE(matrix.is_adopted());
    return matrix;
  };
  check(adopted, BlockPartition::uniform(900, 7), {.coarsest = 20}, {});
}

/// Along one axis an independent set makes aggregates of three points or four, which weak couplings tie to many others:
/// the next matrix would have twice the entries.
TYPED_TEST(MultigridOnBackend, LevelsDoNotFill) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto host_matrix = matrices::stencil<T>({.grid = {20, 20, 20}, .anisotropy = {1.0, 1.0, 1000.0}});
  const MultigridReport report = scalar_multigrid(SparseMatrix<T>(backend, host_matrix), {.coarsest = 100}).report();
  EXPECT_GE(report.levels.size(), 3u);
  for (std::size_t l = 1; l < report.levels.size(); ++l)
    EXPECT_LT(report.levels[l].nnz, report.levels[l - 1].nnz) << to_text(report);
}

/// The ones span the kernel of the matrix, and of the coarsest one.
TYPED_TEST(MultigridOnBackend, FloatingSystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> host_matrix = floating_grid<T>(40);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const Multigrid<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(host_matrix.rows(), 2)));
  EXPECT_TRUE(M.report().is_singular) << M.report().rcond;
  EXPECT_TRUE(contains(to_text(M.report()), "pseudo-inverse")) << to_text(M.report());
  const std::vector<T> b = product(host_matrix, random_vector<T>(host_matrix.rows(), 86));
  std::vector<T> x(b.size());
  const SolveOptions options = reachable<T>();
  const SolveReport solve = cg(LinearOperator<T>(matrix), M, b, x, options);
  expect_solved(solve, host_matrix, b, x, options.rtol);
  EXPECT_LE(solve.iterations, 20);
}

TYPED_TEST(MultigridOnBackend, NonFiniteMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  CsrMatrix<T> host_matrix = grid_matrix<T>(12);
  SparseMatrix<T> matrix(backend, host_matrix);
  Multigrid<T> M = scalar_multigrid(matrix, {.coarsest = 20});
  host_matrix.values()[2] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  matrix.update_values(host_matrix.values());
  M.refresh();
  EXPECT_FALSE(M.report().is_finite);
  EXPECT_TRUE(std::isnan(M.report().rcond)) << M.report().rcond;
  EXPECT_TRUE(contains(to_text(M.report()), "NaN or Inf")) << to_text(M.report());
  matrix.update_values(grid_matrix<T>(12).values());
  M.refresh();
  EXPECT_TRUE(M.report().is_finite);
}

/// Rows that nothing couples are solved by M, alone or beside others; a matrix of the coarsest size is left to M.
TYPED_TEST(MultigridOnBackend, UncoupledRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> alone(backend, diagonal<T>(std::vector<double>(30, 2.0)));
  const Multigrid<T> M = scalar_multigrid(alone, {.coarsest = 4});
  EXPECT_EQ(M.report().levels.size(), 1u);
  EXPECT_EQ(this->applied(M, backend, std::vector<T>(30, T(1))), std::vector<T>(30, T(real_t<T>(0.5))));

  std::vector<Triplet<T>> entries = grid_entries<T>(12, 0.0);
  entries.push_back({144, 144, T(2)});
  const auto host_matrix = CsrMatrix<T>::from_triplets(145, 145, entries);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const std::vector<T> b = random_vector<T>(145, 87);
  std::vector<T> x(b.size());
  const SolveOptions options = reachable<T>();
  expect_solved(cg(LinearOperator<T>(matrix), scalar_multigrid(matrix, {.coarsest = 20}), b, x, options), host_matrix,
                b, x, options.rtol);

  // Parts that become aggregates of their own: the last level has a block for each that is left, NaN or not.
  entries.clear();
  for (index_t i = 0; i < 720; ++i) {
    entries.push_back({i, i, T(2.5)});
    if (i % 12 > 0) entries.insert(entries.end(), {{i, i - 1, T(-1)}, {i - 1, i, T(-1)}});
  }
  CsrMatrix<T> chains = CsrMatrix<T>::from_triplets(720, 720, entries);
  SparseMatrix<T> parts(backend, chains);
  Multigrid<T> of_parts = scalar_multigrid(parts, {.coarsest = 20});
  const MultigridReport report = of_parts.report();
  EXPECT_EQ(report.levels.back().nnz, report.levels.back().rows);
  EXPECT_GT(report.levels.back().rows, 20);
  EXPECT_TRUE(report.is_finite);
  chains.values()[100] = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  parts.update_values(chains.values());
  of_parts.refresh();
  EXPECT_FALSE(of_parts.report().is_finite);

  EXPECT_EQ(scalar_multigrid(matrix, {}).report().levels.size(), 1u);
  const SparseMatrix<T> empty(backend, CsrMatrix<T>());
  EXPECT_EQ(Multigrid<T>(empty, BlockJacobi<T>(empty, BlockPartition())).report().levels.size(), 1u);
}

TYPED_TEST(MultigridOnBackend, Misuse) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> a = grid_matrix<T>(6);
  const SparseMatrix<T> matrix(backend, a);
  const auto jacobi = [&] { return BlockJacobi<T>(matrix, BlockPartition::uniform(36, 6)); };
  const auto expect_message = [](const char* part, auto misuse) {
    const std::string message = message_of(misuse);
    EXPECT_TRUE(contains(message, "Multigrid")) << message;
    EXPECT_TRUE(contains(message, part)) << message;
  };
  const SparseMatrix<T> windy(backend, grid_matrix<T>(6, 0.4));
  expect_message(is_complex<T> ? "not Hermitian" : "not symmetric", [&] { Multigrid<T>(windy, jacobi()); });
  const SparseMatrix<T> wide(backend, CsrMatrix<T>(1, 2, {0, 1}, {0}, {T(1)}));
  expect_message("1 x 2", [&] { Multigrid<T>(wide, jacobi()); });
  const SparseMatrix<T> elsewhere(Backend::host(1), a);
  expect_message("another backend", [&] { Multigrid<T>(elsewhere, jacobi()); });
  const SparseMatrix<T> larger(backend, grid_matrix<T>(7));
  expect_message("the matrix 49", [&] { Multigrid<T>(larger, jacobi()); });
  for (const index_t coarsest : {0, 513})
    expect_message("coarsest", [&] { Multigrid<T>(matrix, jacobi(), {.coarsest = coarsest}); });
  for (const index_t relaxed : {-1, 513})
    expect_message("relaxed", [&] { Multigrid<T>(matrix, jacobi(), {.relaxed = relaxed}); });
  std::vector<T> vectors(36 * 2, T(1));
  expect_message("relaxed is 1", [&] { Multigrid<T>(matrix, jacobi(), {vectors.data(), 36, 2, 36}, {.relaxed = 1}); });
  expect_message("vectors", [&] { Multigrid<T>(matrix, jacobi(), {vectors.data(), 35, 2, 36}); });
  vectors[37] = T(std::numeric_limits<real_t<T>>::infinity());
  expect_message("element 1 of vector 1", [&] { Multigrid<T>(matrix, jacobi(), {vectors.data(), 36, 2, 36}); });

  const Multigrid<T> M(matrix, jacobi());
  const Array<T> r(backend, std::vector<T>(36));
  Array<T> z(backend, 35);
  expect_message("z", [&] { M.apply(r.view(), z.view()); });
  Multigrid<T> from(matrix, jacobi());
  const Multigrid<T> to = std::move(from);
  expect_message("moved", [&] { from.refresh(); });
}

}  // namespace
}  // namespace blockjacobi::test
