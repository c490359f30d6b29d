#include "backends/two_level.hpp"
#include "backend/backend_impl.hpp"
#include "matrices/generators/stencil.hpp"
#include "support/backends.hpp"
#include "support/batch.hpp"
#include "support/bits.hpp"
#include "support/dense.hpp"
#include "support/messages.hpp"

#include <algorithm>
#include <functional>
#include <map>

namespace blockjacobi::test {
namespace {

template <class Case>
class TwoLevelOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(TwoLevelOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
WideDense<T> correction(const TwoLevel<T>& M) {
  return dense_of<T>(M.backend(), M.rows(), [&](auto r, auto u) { M.correct(r, u); });
}
template <Scalar T>
WideDense<T> preconditioner(const TwoLevel<T>& M) {
  return dense_of<T>(M.backend(), M.rows(), [&](auto r, auto z) { M.apply(r, z); });
}

template <Scalar T>
WideDense<T> block_diagonal_inverse(const WideDense<T>& a, const BlockPartition& blocks) {
  WideDense<T> inverse = WideDense<T>::Zero(a.rows(), a.cols());
  for (index_t b = 0; b < blocks.blocks(); ++b) {
    const index_t first = blocks.offsets()[static_cast<std::size_t>(b)], n = blocks.block_size(b);
    inverse.block(first, first, n, n) = inverse_of(WideDense<T>(a.block(first, first, n, n)));
  }
  return inverse;
}

/// The rows with the same row of Q = Z E^-1 Z^H, Z of ones, by the first of them.
template <Scalar T>
std::map<index_t, std::vector<index_t>> equal_rows(const WideDense<T>& q) {
  std::map<index_t, std::vector<index_t>> groups;
  for (index_t i = 0; i < q.rows(); ++i) {
    index_t first = 0;
    while (q.row(first) != q.row(i)) ++first;
    groups[first].push_back(i);
  }
  return groups;
}

/// Z (Z^H A Z)^-1 Z^H, Z of the vectors on each group of rows.
template <Scalar T>
WideDense<T> coarse_correction(const WideDense<T>& a, const std::map<index_t, std::vector<index_t>>& groups,
                               const WideDense<T>& vectors) {
  const Eigen::Index k = vectors.cols();
  WideDense<T> z = WideDense<T>::Zero(a.rows(), static_cast<Eigen::Index>(groups.size()) * k);
  Eigen::Index column = 0;
  for (const auto& [first, rows] : groups) {
    for (const index_t i : rows) z.block(i, column, 1, k) = vectors.row(i);
    column += k;
  }
  const WideDense<T> e = adjoint_product(z, product(a, z));
  return product(z, product(inverse_of(e), WideDense<T>(z.adjoint())));
}

/// In double precision, which is enough for bounds.
template <Scalar T>
Eigen::VectorXd singular_values(const WideDense<T>& a) {
  return Eigen::JacobiSVD<Dense<std::complex<double>>>(a.template cast<std::complex<double>>()).singularValues();
}

/// The largest singular value over the smallest that is not rounding in T.
template <Scalar T>
double condition_of(const WideDense<T>& a) {
  const Eigen::VectorXd values = singular_values<T>(a);
  double least = values[0];
  for (const double value : values)
    if (value > values[0] * std::sqrt(epsilon<T>())) least = value;
  return values[0] / least;
}

/// Of the vectors on each group, brought to norm 1: what an error of their elements does to their span.
template <Scalar T>
double condition_of_vectors(const std::map<index_t, std::vector<index_t>>& groups, const WideDense<T>& vectors) {
  double most = 1;
  for (const auto& [first, rows] : groups) {
    WideDense<T> own(static_cast<Eigen::Index>(rows.size()), vectors.cols());
    for (std::size_t k = 0; k < rows.size(); ++k) own.row(static_cast<Eigen::Index>(k)) = vectors.row(rows[k]);
    own.colwise().normalize();
    most = std::max(most, condition_of<T>(own));
  }
  return most;
}

/// Of Z^H A Z with Z of ones, without its kernel.
template <Scalar T>
double condition_of_coarse(const WideDense<T>& a, const std::map<index_t, std::vector<index_t>>& groups) {
  WideDense<T> z = WideDense<T>::Zero(a.rows(), static_cast<Eigen::Index>(groups.size()));
  Eigen::Index column = 0;
  for (const auto& [first, rows] : groups) {
    for (const index_t i : rows) z(i, column) = 1;
    z.col(column++).normalize();
  }
  return condition_of<T>(adjoint_product(z, product(a, z)));
}

/// z of the three modes, from M^-1 and Q.
template <Scalar T>
WideDense<T> two_level(CoarseMode mode, const WideDense<T>& a, const WideDense<T>& m, const WideDense<T>& q) {
  if (mode == CoarseMode::additive) return m + q;
  const WideDense<T> both = mode == CoarseMode::adef1 ? product(m, product(a, q)) : product(q, product(a, m));
  return m - both + q;
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

constexpr CoarseMode modes[] = {CoarseMode::additive, CoarseMode::adef1, CoarseMode::adef2};

TYPED_TEST(TwoLevelOnBackend, AppliesWhatItsModeSays) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const double wind : {0.0, 0.4}) {
    const CsrMatrix<T> host_matrix = grid_matrix<T>(12, wind);
    const WideDense<T> a = dense(host_matrix);
    const auto blocks = BlockPartition::uniform(host_matrix.rows(), 6);
    const WideDense<T> m = block_diagonal_inverse<T>(a, blocks);
    const SparseMatrix<T> matrix(backend, host_matrix);
    for (const CoarseMode mode : modes) {
      SCOPED_TRACE(to_string(mode));
      const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, blocks), {.mode = mode, .size = 9});
      const TwoLevelReport report = M.report();
      EXPECT_EQ(report.mode, mode);
      EXPECT_EQ(report.rows, host_matrix.rows());
      EXPECT_EQ(report.aggregates, report.size);
      EXPECT_EQ(report.uncovered_rows, 0);
      EXPECT_FALSE(report.is_singular);
      EXPECT_TRUE(report.is_finite);
      EXPECT_GT(report.rcond, 0.01);
      EXPECT_GT(report.bytes, host_matrix.values().size_bytes());

      const WideDense<T> q = correction(M);
      const auto groups = equal_rows<T>(q);
      EXPECT_EQ(groups.size(), static_cast<std::size_t>(report.size));
      EXPECT_GE(report.size, 5);
      EXPECT_LE(report.size, 9);
      for (const auto& [first, rows] : groups) {  // unions of blocks
        EXPECT_EQ(rows.size() % 6, 0u);
        for (const index_t i : rows) EXPECT_EQ(q.row(i / 6 * 6), q.row(i));
      }
      const WideDense<T> expected =
          coarse_correction<T>(a, groups, WideDense<T>::Constant(a.rows(), 1, typename Wide<T>::type(1)));
      expect_near<T>(q, expected, 100);
      expect_near<T>(preconditioner(M), two_level<T>(mode, a, m, expected), 100);
    }
  }
}

/// A column for every unknown of a node.
TYPED_TEST(TwoLevelOnBackend, UnknownsOfNodesHaveOnesOfTheirOwn) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto host_matrix = matrices::stencil<T>({.grid = {8, 6, 1}, .unknowns = 3});
  const SparseMatrix<T> matrix(backend, host_matrix, {.block_size = 3});
  const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(matrix)), {.size = 12});
  EXPECT_EQ(M.report().size, 3 * M.report().aggregates);
  EXPECT_LE(M.report().size, 12);
  const WideDense<T> q = correction(M);
  const auto groups = equal_rows<T>(q);
  EXPECT_EQ(groups.size(), static_cast<std::size_t>(M.report().size));
  for (const auto& [first, rows] : groups)
    for (const index_t i : rows) EXPECT_EQ(i % 3, first % 3);
  const WideDense<T> a = dense(host_matrix);
  expect_near<T>(q, coarse_correction<T>(a, groups, WideDense<T>::Constant(a.rows(), 1, typename Wide<T>::type(1))),
                 100);
}

/// The aggregates are those of ones; dependent and vanishing vectors add nothing.
TYPED_TEST(TwoLevelOnBackend, VectorsOfTheUser) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> host_matrix = grid_matrix<T>(12);
  const index_t n = host_matrix.rows();
  const auto blocks = BlockPartition::uniform(n, 6);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const auto groups = equal_rows<T>(correction(TwoLevel<T>(matrix, BlockJacobi<T>(matrix, blocks), {.size = 6})));

  Dense<T> vectors(n, 4);
  const std::vector<T> random = random_vector<T>(n, 51);
  for (index_t i = 0; i < n; ++i)
    vectors.row(i) << T(3), T(static_cast<real_t<T>>(i)), random[static_cast<std::size_t>(i)], T(0);
  const WideDense<T> expected =
      coarse_correction<T>(dense(host_matrix), groups, vectors.leftCols(3).template cast<typename Wide<T>::type>());
  vectors.col(3) = vectors.col(0) * T(2) - vectors.col(2);
  // Householder's QR of k vectors on m rows errs by m k eps times the condition of the vectors, which moves Z by F. To
  // first order dQ = (I - Q A) F E^-1 Z^H and its adjoint, and ||I - Q A|| = ||Q A|| of a projector. The inverse of E
  // adds accuracy N eps cond(E), and cond(E) <= cond(A). Errors of either sign add up to the roots of m k and accuracy
  // N (N. J. Higham, "Accuracy and stability of numerical algorithms", section 2.8).
  const WideDense<T> a = dense(host_matrix);
  std::size_t most_rows = 0;
  for (const auto& [first, rows] : groups) most_rows = std::max(most_rows, rows.size());
  const double condition = condition_of_vectors<T>(groups, vectors.leftCols(3).template cast<typename Wide<T>::type>());
  const double of_span =
      2 * singular_values<T>(product(expected, a))[0] * std::sqrt(3 * static_cast<double>(most_rows)) * condition;
  const double bound = of_span + std::sqrt(accuracy * 3 * static_cast<double>(groups.size())) * condition_of<T>(a);
  const Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> by_rows = vectors;
  const MultiVectorView<const T> columns{vectors.data(), n, 4, n}, rows{by_rows.data(), n, 4, 4, Layout::row_major};
  for (const auto& view : {columns, rows}) {
    const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, blocks), view, {.size = 24});
    EXPECT_EQ(M.report().aggregates, static_cast<index_t>(groups.size()));
    EXPECT_EQ(M.report().size, 3 * M.report().aggregates);
    expect_near<T>(correction(M), expected, bound);
  }
  const Dense<T> zero = Dense<T>::Zero(n, 1);
  const TwoLevel<T> none(matrix, BlockJacobi<T>(matrix, blocks), {zero.data(), n, 1, n});
  EXPECT_EQ(none.report().size, 0);
  EXPECT_EQ(correction(none), WideDense<T>::Zero(n, n));
}

/// Aggregates, numbers of columns and the correction are those of the host, in every mode, with blocks of mixed orders,
/// ones for each unknown, vectors of which some depend on others, and more than 65 536 rows.
TYPED_TEST(TwoLevelOnBackend, SetUpIsThatOfTheHost) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend(), host = Backend::host();
  const auto check = [&](const CsrMatrix<T>& a, const SparseMatrixOptions& stated, const BlockPartition& blocks,
                         const TwoLevelOptions& options, const std::vector<T>& vectors) {
    const auto on = [&](const Backend& where) {
      const SparseMatrix<T> matrix(where, a, stated);
      BlockJacobi<T> M(matrix, blocks);
      if (vectors.empty()) return TwoLevel<T>(matrix, std::move(M), options);
      const index_t n = a.rows();
      const auto count = static_cast<index_t>(vectors.size() / static_cast<std::size_t>(n));
      return TwoLevel<T>(matrix, std::move(M), MultiVectorView<const T>{vectors.data(), n, count, n}, options);
    };
    const TwoLevel<T> found = on(backend), expected = on(host);
    const TwoLevelReport f = found.report(), e = expected.report();
    EXPECT_EQ(f.mode, e.mode);
    EXPECT_EQ(f.aggregates, e.aggregates);
    EXPECT_EQ(f.size, e.size);
    EXPECT_EQ(f.uncovered_rows, e.uncovered_rows);
    EXPECT_NEAR(f.rcond, e.rcond, 0.2 * e.rcond);
    const std::vector<T> r = random_vector<T>(a.rows(), 57);
    const auto corrected = [&](const TwoLevel<T>& M) {
      const Array<T> in(M.backend(), r);
      Array<T> out(M.backend(), r.size());
      M.correct(in.view(), out.view());
      return out.to_host();
    };
    const std::vector<T> u = corrected(found), v = corrected(expected);
    std::vector<T> difference(u.size());
    std::ranges::transform(u, v, difference.begin(), std::minus<>{});
    // E^-1 errs by its condition, in single precision where it is read so.
    const double eps = f.size > max_block_size ? std::numeric_limits<float>::epsilon() : epsilon<T>();
    EXPECT_LE(norm(difference), 10 * eps / e.rcond * norm(v));
    return f.size;
  };
  const auto nodes = matrices::stencil<T>({.grid = {14, 9, 1}, .unknowns = 3});
  const std::vector<T> random = random_vector<T>(3 * nodes.rows(), 58);
  std::vector<T> dependent(random);
  for (index_t i = 0; i < nodes.rows(); ++i)
    dependent[static_cast<std::size_t>(i + 2 * nodes.rows())] =
        dependent[static_cast<std::size_t>(i)] - T(3) * dependent[static_cast<std::size_t>(i + nodes.rows())];
  for (const CoarseMode mode : modes) {
    SCOPED_TRACE(to_string(mode));
    check(grid_matrix<T>(30, 0.2), {}, BlockPartition::uniform(900, 7), {.mode = mode, .size = 40}, {});
    check(nodes, {.block_size = 3}, BlockPartition::uniform(nodes.rows(), 6), {.mode = mode, .size = 30}, {});
    check(nodes, {.block_size = 3}, BlockPartition::uniform(nodes.rows(), 4), {.mode = mode, .size = 30}, {});
    check(nodes, {}, BlockPartition::from_offsets({0, 5, 6, 40, 72, 200, nodes.rows()}), {.mode = mode}, random);
    check(nodes, {}, BlockPartition::uniform(nodes.rows(), 9), {.mode = mode, .size = 45}, dependent);
  }
  const auto large = matrices::stencil<T>({.grid = {70, 40, 30}});
  check(large, {}, BlockPartition::uniform(large.rows(), 8), {.size = 300}, {});
  if (to_eight_digits<T>) check(large, {}, BlockPartition::uniform(large.rows(), 8), {.size = 700}, {});
  // So large that a thread block has 16, and 32 rows of E^-1; one scalar, as the host takes seconds to invert E.
  if (std::is_same_v<T, double> && backend.kind() == BackendKind::cuda) {
    const auto aggregated_by = [&](index_t size) {
      return check(grid_matrix<T>(100), {}, BlockPartition::uniform(10000, 4), {.size = size}, {});
    };
    EXPECT_GT(aggregated_by(1500), 8 * 132);
    EXPECT_GT(aggregated_by(2500), 16 * 132);
  }
}

/// Of an order that no block has, in single precision: Q A Q = Q as far as its condition allows.
TYPED_TEST(TwoLevelOnBackend, CoarseMatrixLargerThanABlock) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto host_matrix = matrices::stencil<T>({.grid = {72, 72, 1}, .phase = 0.0});
  SparseMatrix<T> matrix(backend, host_matrix);
  const LinearOperator<T> A(matrix);
  const auto blocks = BlockPartition::uniform(host_matrix.rows(), 4);
  const std::vector<T> b = product(host_matrix, random_vector<T>(host_matrix.rows(), 59));
  const SolveOptions options = reachable<T>();
  index_t fewest = std::numeric_limits<index_t>::max();
  for (const index_t size : {100, 1000}) {
    TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, blocks), {.size = size});
    const TwoLevelReport report = M.report();
    EXPECT_EQ(report.size > max_block_size, size > max_block_size) << report.size;
    EXPECT_FALSE(report.is_singular);
    EXPECT_TRUE(report.is_finite);
    EXPECT_GT(report.rcond, 1e-4);
    Array<T> in(backend, random_vector<T>(host_matrix.rows(), 60)), u(backend, in.size()), w(backend, in.size());
    M.correct(std::as_const(in).view(), u.view());
    A.apply(std::as_const(u).view(), in.view());
    M.correct(std::as_const(in).view(), w.view());
    const std::vector<T> once = u.to_host();
    std::vector<T> twice = w.to_host();
    for (std::size_t i = 0; i < twice.size(); ++i) twice[i] -= once[i];
    // what the storage in single precision loses, and the diagonal that was raised by order eps
    const double error = 4.0 * std::numeric_limits<float>::epsilon() + report.size * epsilon<T>();
    EXPECT_LE(norm(twice), error / report.rcond * norm(once));

    std::vector<T> x(b.size());
    const SolveReport solve = cg(A, M, b, x, options);
    expect_solved(solve, host_matrix, b, x, options.rtol);
    EXPECT_LT(solve.iterations, fewest);
    fewest = solve.iterations;

    const std::vector<T> before = this->applied(M, backend, b);
    M.refresh();
    EXPECT_TRUE(same_bits(this->applied(M, backend, b), before));
    matrix.update_values(std::vector<T>(host_matrix.values().size(), T(std::numeric_limits<real_t<T>>::quiet_NaN())));
    M.refresh();
    EXPECT_FALSE(M.report().is_finite);
    matrix.update_values(host_matrix.values());
  }
}

TYPED_TEST(TwoLevelOnBackend, SingularCoarseMatrixLargerThanABlock) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> host_matrix = floating_grid<T>(48);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const std::vector<T> b = product(host_matrix, random_vector<T>(host_matrix.rows(), 61));
  const SolveOptions options = reachable<T>();
  const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, BlockPartition::uniform(host_matrix.rows(), 2)), {.size = 1000});
  EXPECT_GT(M.report().size, max_block_size);
  EXPECT_TRUE(M.report().is_singular) << M.report().rcond;
  EXPECT_TRUE(contains(to_text(M.report()), "diagonal was raised")) << to_text(M.report());
  std::vector<T> x(b.size());
  expect_solved(cg(LinearOperator<T>(matrix), M, b, x, options), host_matrix, b, x, options.rtol);
}

/// To the bits of a new object; recorded and replayed, too.
TYPED_TEST(TwoLevelOnBackend, RefreshTakesTheValuesOfTheMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> first = grid_matrix<T>(30), second = rescaled(first);
  const auto blocks = BlockPartition::uniform(first.rows(), 6);
  const std::vector<T> r = random_vector<T>(first.rows(), 57);
  for (const CoarseMode mode : modes) {
    SCOPED_TRACE(to_string(mode));
    const auto made = [&](const SparseMatrix<T>& matrix) {
      return TwoLevel<T>(matrix, BlockJacobi<T>(matrix, blocks), {.mode = mode, .size = 40});
    };
    const std::vector<T> of_first = this->applied(made(SparseMatrix<T>(backend, first)), backend, r);
    const std::vector<T> of_second = this->applied(made(SparseMatrix<T>(backend, second)), backend, r);
    EXPECT_FALSE(same_bits(of_first, of_second));

    SparseMatrix<T> matrix(backend, first);
    TwoLevel<T> M = made(matrix);
    EXPECT_TRUE(same_bits(this->applied(M, backend, r), of_first));
    matrix.update_values(second.values());
    M.refresh();
    EXPECT_TRUE(same_bits(this->applied(M, backend, r), of_second));

    Array<T> in(backend, r), out(backend, r.size());
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
}

/// -1, 2, -1 with 1 at both ends: the ones span the kernel of A, and of E.
TYPED_TEST(TwoLevelOnBackend, SingularCoarseMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  constexpr index_t n = 240;
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, T(i == 0 || i + 1 == n ? 1 : 2)});
    if (i > 0) entries.push_back({i, i - 1, T(-1)});
    if (i + 1 < n) entries.push_back({i, i + 1, T(-1)});
  }
  const auto host_matrix = CsrMatrix<T>::from_triplets(n, n, entries);
  const SparseMatrix<T> matrix(backend, host_matrix);
  const auto blocks = BlockPartition::uniform(n, 6);
  const std::vector<T> b = product(host_matrix, random_vector<T>(n, 58));
  SolveOptions options = reachable<T>();
  for (const CoarseMode mode : {CoarseMode::additive, CoarseMode::adef2}) {
    SCOPED_TRACE(to_string(mode));
    const TwoLevel<T> M(matrix, BlockJacobi<T>(matrix, blocks), {.mode = mode, .size = 12});
    EXPECT_TRUE(M.report().is_singular);
    EXPECT_TRUE(contains(to_text(M.report()), "pseudo-inverse")) << to_text(M.report());
    const WideDense<T> q = correction(M), a = dense(host_matrix);
    // X = E^+ with accuracy N eps cond(E), and E with eps times the rows of a sum: so X E X - X, errors of either sign
    // by the root as above.
    const auto groups = equal_rows<T>(q);
    const double rows = static_cast<double>(n) / static_cast<double>(groups.size());
    const double coarse = accuracy * static_cast<double>(groups.size()) + rows;
    expect_near<T>(product(q, product(a, q)), q, std::sqrt(coarse) * condition_of_coarse<T>(a, groups));
    std::vector<T> x(b.size());
    expect_solved(cg(LinearOperator<T>(matrix), M, b, x, options), host_matrix, b, x, options.rtol);
  }
}

}  // namespace
}  // namespace blockjacobi::test
