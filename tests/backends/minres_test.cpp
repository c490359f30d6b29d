#include "backends/systems.hpp"
#include "matrices/generators/saddle_point.hpp"
#include "support/backends.hpp"
#include "support/bits.hpp"
#include "support/dense.hpp"

// What is particular to MINRES: indefinite and singular matrices, and every iterate against the minimizer that it has
// to be.

namespace blockjacobi::test {
namespace {

template <class Case>
class MinresOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(MinresOnBackend, BackendCases, BackendCaseName);

template <Scalar T>
WideDense<T> dense(const CsrMatrix<T>& a) {
  WideDense<T> wide = WideDense<T>::Zero(a.rows(), a.cols());
  for (index_t i = 0; i < a.rows(); ++i)
    for (offset_t k = a.row_offsets()[static_cast<std::size_t>(i)];
         k < a.row_offsets()[static_cast<std::size_t>(i) + 1]; ++k)
      wide(i, a.columns()[static_cast<std::size_t>(k)]) +=
          typename Wide<T>::type(a.values()[static_cast<std::size_t>(k)]);
  return wide;
}

template <Scalar T>
WideDense<T> dense(const std::vector<T>& v) {
  return Eigen::Map<const Dense<T>>(v.data(), static_cast<Eigen::Index>(v.size()), 1)
      .template cast<typename Wide<T>::type>();
}

/// The definite matrix of which M has the diagonal blocks.
template <Scalar T>
struct Blocks {
  CsrMatrix<T> matrix;
  index_t size;
};

/// M^-1.
template <Scalar T>
WideDense<T> dense_inverse(const Blocks<T>& blocks) {
  const WideDense<T> a = dense(blocks.matrix);
  const Eigen::Index n = a.rows();
  WideDense<T> inverse = WideDense<T>::Zero(n, n);
  for (Eigen::Index first = 0; first < n; first += blocks.size) {
    const Eigen::Index size = std::min<Eigen::Index>(blocks.size, n - first);
    inverse.block(first, first, size, size) = inverse_of(WideDense<T>(a.block(first, first, size, size)));
  }
  return inverse;
}

/// x of x0 + K_k(M^-1 A, M^-1 r0) with the least sqrt(r^H M^-1 r), for k = 1, ..., count; in long double. With M^-1 =
/// L L^H and x = x0 + L y that is the least ||L^H r0 - L^H A L y|| over a Krylov space with an orthonormal basis.
template <Scalar T>
std::vector<WideDense<T>> minimizers(const WideDense<T>& a, const WideDense<T>& inverse, const WideDense<T>& b,
                                     const WideDense<T>& x0, int count) {
  const WideDense<T> L = cholesky_factor(inverse);
  const WideDense<T> system = adjoint_product(L, product(a, L)), rhs = adjoint_product(L, b - product(a, x0));
  WideDense<T> basis = rhs / rhs.norm();
  std::vector<WideDense<T>> x;
  for (int k = 0; k < count; ++k) {
    const WideDense<T> y = product(basis, least_squares(product(system, basis), rhs));
    x.push_back(x0 + product(L, y));
    WideDense<T> next = product(system, WideDense<T>(basis.rightCols(1)));
    for (int twice = 0; twice < 2; ++twice) next -= product(basis, adjoint_product(basis, next));
    basis.conservativeResize(Eigen::NoChange, basis.cols() + 1);
    basis.rightCols(1) = next / next.norm();
  }
  return x;
}

/// A - shift I.
template <Scalar T>
CsrMatrix<T> shifted(CsrMatrix<T> a, double shift) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows()); ++i)
    for (auto k = static_cast<std::size_t>(a.row_offsets()[i]); k < static_cast<std::size_t>(a.row_offsets()[i + 1]);
         ++k)
      if (a.columns()[k] == static_cast<index_t>(i)) a.values()[k] -= T(static_cast<real_t<T>>(shift));
  return a;
}

/// Stokes flow on nx x ny cells; for complex scalars as D A D^H with a unitary diagonal D.
template <Scalar T>
CsrMatrix<T> saddle_point(index_t nx, index_t ny) {
  const auto a = matrices::saddle_point<real_t<T>>({.nx = nx, .ny = ny});
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < a.rows(); ++i)
    for (offset_t k = a.row_offsets()[static_cast<std::size_t>(i)];
         k < a.row_offsets()[static_cast<std::size_t>(i) + 1]; ++k) {
      const index_t j = a.columns()[static_cast<std::size_t>(k)];
      T value(a.values()[static_cast<std::size_t>(k)]);
      if constexpr (is_complex<T>) value *= std::polar(real_t<T>(1), static_cast<real_t<T>>(i - j));
      entries.push_back({i, j, value});
    }
  return CsrMatrix<T>::from_triplets(a.rows(), a.cols(), entries);
}

/// A diagonal matrix with that of A, and 1 where A has none.
template <Scalar T>
CsrMatrix<T> definite_diagonal(const CsrMatrix<T>& a) {
  std::vector<double> values(static_cast<std::size_t>(a.rows()), 1.0);
  const WideDense<T> full = dense(a);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const auto own = std::abs(full(static_cast<index_t>(i), static_cast<index_t>(i))); own > 0)
      values[i] = static_cast<double>(own);
  return diagonal<T>(values);
}

/// -1, 2, -1 with 1 at both ends: singular, the constant vector is its kernel.
template <Scalar T>
CsrMatrix<T> path(index_t n) {
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, T(i == 0 || i + 1 == n ? 1 : 2)});
    if (i > 0) entries.push_back({i, i - 1, T(-1)});
    if (i + 1 < n) entries.push_back({i, i + 1, T(-1)});
  }
  return CsrMatrix<T>::from_triplets(n, n, entries);
}

/// eps times what the recurrences may make of it in a few iterations of systems with modest numbers.
template <Scalar T>
double few_iterations() {
  return 500 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
}

TYPED_TEST(MinresOnBackend, EveryIterateMinimizesTheResidual) {
  using T = typename TypeParam::Scalar;
  constexpr int count = 8;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> definite = grid_matrix<T>(6), saddle = saddle_point<T>(5, 4);
  const struct {
    const char* name;
    CsrMatrix<T> a;
    Blocks<T> blocks;
  } cases[] = {{"definite", definite, {definite, 5}},
               {"indefinite", shifted(definite, 3.1), {definite, 6}},
               {"saddle point", saddle, {definite_diagonal(saddle), 1}}};
  for (const auto& [name, a, blocks] : cases)
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(::testing::Message() << name << (preconditioned ? ", preconditioned" : ""));
      const index_t n = a.rows();
      const std::vector<T> b = random_vector<T>(n, 41), x0 = random_vector<T>(n, 42);
      const WideDense<T> inverse = preconditioned ? dense_inverse(blocks) : WideDense<T>(WideDense<T>::Identity(n, n));
      const auto expected = minimizers<T>(dense(a), inverse, dense(b), dense(x0), count);
      const BlockJacobi<T> jacobi(backend, blocks.matrix, BlockPartition::uniform(n, blocks.size));
      const auto M = preconditioned ? Preconditioner<T>(jacobi) : Preconditioner<T>();
      for (int k = 1; k <= count; ++k) {
        SCOPED_TRACE(k);
        SolveOptions options;
        options.rtol = 0.0;
        options.max_iterations = k;
        std::vector<T> x = x0;
        const SolveReport report = minres(LinearOperator<T>(backend, a), M, b, x, options);
        EXPECT_EQ(report.reason, StopReason::max_iterations);
        EXPECT_EQ(report.iterations, k);
        const WideDense<T>& best = expected[static_cast<std::size_t>(k) - 1];
        EXPECT_LE((dense(x) - best).norm(), few_iterations<T>() * best.norm());
        const auto residual = static_cast<double>((dense(b) - dense(a) * best).norm());
        EXPECT_NEAR(report.history.back(), residual, few_iterations<T>() * report.initial_residual);
      }
    }
}

/// Of thousands of rows with eigenvalues on both sides.
TYPED_TEST(MinresOnBackend, IndefiniteSystems) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const CsrMatrix<T> definite = grid_matrix<T>(40), saddle = saddle_point<T>(8, 8);
  const struct {
    const char* name;
    CsrMatrix<T> a;
    Blocks<T> blocks;
  } cases[] = {{"shifted", shifted(definite, 1.0), {definite, 40}},
               {"saddle point", saddle, {definite_diagonal(saddle), 1}}};
  for (const auto& [name, a, blocks] : cases) {
    const BlockJacobi<T> jacobi(backend, blocks.matrix, BlockPartition::uniform(a.rows(), blocks.size));
    for (const bool preconditioned : {false, true}) {
      SCOPED_TRACE(::testing::Message() << name << (preconditioned ? ", preconditioned" : ""));
      const auto M = preconditioned ? Preconditioner<T>(jacobi) : Preconditioner<T>();
      const std::vector<T> b = product(a, random_vector<T>(a.rows(), 43));
      const LinearOperator<T> A(backend, a);
      const auto options = options_for<T>(std::is_same_v<real_t<T>, double> ? 1e-9 : 1e-4);
      std::vector<T> x(b.size());
      const SolveReport report = minres(A, M, b, x, options);
      expect_solved(report, a, b, x, options.rtol);
      if (!preconditioned) {
        for (std::size_t i = 1; i < report.history.size(); ++i)
          EXPECT_LE(report.history[i], report.history[i - 1] * (1 + few_iterations<T>())) << "iteration " << i;
      }
      x.assign(b.size(), T(0));
      EXPECT_EQ(cg(A, M, b, x, options).reason, StopReason::indefinite_matrix);
    }
  }
}

/// The solution of least norm, since every vector is in the range.
TYPED_TEST(MinresOnBackend, SingularConsistentSystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  constexpr index_t n = 50;
  const CsrMatrix<T> a = path<T>(n);
  const std::vector<T> b = product(a, random_vector<T>(n, 44));
  const auto options = options_for<T>(std::is_same_v<real_t<T>, double> ? 1e-10 : 1e-5);
  std::vector<T> x(b.size());
  expect_solved(minres(LinearOperator<T>(backend, a), {}, b, x, options), a, b, x, options.rtol);
  EXPECT_LE(std::abs(dense(x).sum()), 0.01L * dense(x).norm());
}

/// x stays at a least-squares solution: A r vanishes, r cannot.
TYPED_TEST(MinresOnBackend, SingularInconsistentSystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const double epsilon = static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  for (const auto& [a, b] : {std::pair{diagonal<T>({1, 0}), std::vector<T>{T(1), T(1)}},
                             std::pair{diagonal<T>({3, -2, 0, 1}), std::vector<T>{T(1), T(-1), T(1), T(2)}},
                             std::pair{path<T>(4), random_vector<T>(4, 45)}}) {
    SCOPED_TRACE(a.rows());
    std::vector<T> x(b.size());
    const SolveReport report = minres(LinearOperator<T>(backend, a), {}, b, x);
    EXPECT_EQ(report.reason, StopReason::stagnation) << to_text(report);
    const WideDense<T> r = dense(b) - product(dense(a), dense(x));
    EXPECT_LE(static_cast<double>((dense(a) * r).norm()), 300 * epsilon * static_cast<double>(dense(b).norm()));
    EXPECT_LE(static_cast<double>(dense(x).norm()), 10 * static_cast<double>(dense(b).norm()));
  }
}

/// At once, or by the second vector: from b = e_1 A brings it to e_3, where M is negative.
TYPED_TEST(MinresOnBackend, IndefinitePreconditioner) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto a = CsrMatrix<T>::from_triplets(
      3, 3, std::vector<Triplet<T>>{{0, 0, T(2)}, {0, 2, T(1)}, {1, 1, T(2)}, {2, 0, T(1)}, {2, 2, T(2)}});
  const std::vector<T> b{T(1), T(0), T(0)};
  const LinearOperator<T> A(backend, a);
  for (const double first : {-1.0, 1.0}) {
    const BlockJacobi<T> M(backend, diagonal<T>({first, 1, -1}), BlockPartition::uniform(3, 1));
    std::vector<T> x(3);
    const SolveReport report = minres(A, M, b, x);
    EXPECT_EQ(report.reason, StopReason::indefinite_preconditioner) << to_text(report);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(x, std::vector<T>(3));
  }
}

/// The sums do not depend on how many threads share them.
TYPED_TEST(MinresOnBackend, AnyNumberOfThreadsGivesTheSameBits) {
  using T = typename TypeParam::Scalar;
  if (backend_kind() != BackendKind::host) return;
  const CsrMatrix<T> a = shifted(grid_matrix<T>(120), 1.0);
  const std::vector<T> b = random_vector<T>(a.rows(), 46);
  auto options = options_for<T>();
  options.max_iterations = 20;
  std::vector<T> expected;
  SolveReport first;
  for (const int threads : {1, 2, 3, 8}) {
    SCOPED_TRACE(threads);
    const Backend backend = Backend::host(threads);
    const BlockJacobi<T> M(backend, grid_matrix<T>(120), BlockPartition::uniform(a.rows(), 12));
    std::vector<T> x(b.size());
    const SolveReport report = minres(LinearOperator<T>(backend, a), M, b, x, options);
    EXPECT_EQ(report.iterations, 20);
    if (threads == 1) {
      expected = x;
      first = report;
    }
    EXPECT_EQ(report.history, first.history);
    EXPECT_TRUE(same_bits(x, expected));
  }
}

}  // namespace
}  // namespace blockjacobi::test
