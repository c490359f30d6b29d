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

/// What k steps leave, relative to the norms that it goes with: a product with rows of some entries and updates of the
/// vectors each, and inverses of blocks, of order N and condition about 3. Of so many errors of half an eps the root of
/// their number counts, twice that here. Complex arithmetic is off by three times that. (N. J. Higham, "Accuracy and
/// stability of numerical algorithms", chapters 3 and 14; N. J. Higham, T. Mary, "A new approach to probabilistic
/// rounding error analysis", 2019)
template <Scalar T>
double rounding_of_steps(const CsrMatrix<T>& a, int k, index_t order) {
  offset_t terms = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows()); ++i)
    terms = std::max(terms, a.row_offsets()[i + 1] - a.row_offsets()[i]);
  return (is_complex<T> ? 3 : 1) * std::sqrt(k * static_cast<double>(terms + 2 + 3 * order)) *
         static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
}

/// How far y of the least ||c - B y|| moves, and its residual, to first order, if c and B move by e ||c|| and e ||B||:
/// by e times these numbers. (Higham, section 20.1)
struct Sensitivity {
  /// `least`: the smallest singular value of B.
  Sensitivity(long double c, long double B, long double y, long double r, long double least)
      : residual(static_cast<double>(c + B * (y + r / least))), solution(residual / static_cast<double>(least)) {}
  double residual, solution;
};

/// Where MINRES has to be after some steps.
template <Scalar T>
struct Minimizer {
  WideDense<T> x;
  Sensitivity sensitivity;  ///< of x and b - A x
};

/// x of x0 + K_k(M^-1 A, M^-1 r0) with the least sqrt(r^H M^-1 r), for k = 1, ..., count; in long double. With M^-1 =
/// L L^H and x = x0 + L y that is the least ||L^H r0 - L^H A L y|| over a Krylov space with an orthonormal basis.
template <Scalar T>
std::vector<Minimizer<T>> minimizers(const WideDense<T>& a, const WideDense<T>& inverse, const WideDense<T>& b,
                                     const WideDense<T>& x0, int count) {
  const WideDense<T> L = cholesky_factor(inverse);
  const WideDense<T> system = adjoint_product(L, product(a, L)), rhs = adjoint_product(L, b - product(a, x0));
  // Norms of Hermitian matrices are at most those that sum up rows.
  const long double norm_of_L = std::sqrt(infinity_norm(inverse)), norm = infinity_norm(a),
                    inverse_norm_of_L = std::sqrt(infinity_norm(inverse_of(inverse)));
  WideDense<T> basis = rhs / rhs.norm();
  std::vector<Minimizer<T>> all;
  for (int k = 0; k < count; ++k) {
    const WideDense<T> B = product(system, basis), coefficients = least_squares(B, rhs),
                       y = product(basis, coefficients);
    Sensitivity own(norm_of_L * (b.norm() + norm * x0.norm()), norm_of_L * norm_of_L * norm, y.norm(),
                    (rhs - product(B, coefficients)).norm(),
                    1 / std::sqrt(infinity_norm(inverse_of(adjoint_product(B, B)))));
    const WideDense<T> x = x0 + product(L, y);
    own.residual *= static_cast<double>(inverse_norm_of_L);
    own.solution = static_cast<double>(norm_of_L * own.solution + x0.norm() + x.norm());
    all.push_back({x, own});
    WideDense<T> next = product(system, WideDense<T>(basis.rightCols(1)));
    for (int twice = 0; twice < 2; ++twice) next -= product(basis, adjoint_product(basis, next));
    basis.conservativeResize(Eigen::NoChange, basis.cols() + 1);
    basis.rightCols(1) = next / next.norm();
  }
  return all;
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
        const auto& [best, sensitivity] = expected[static_cast<std::size_t>(k) - 1];
        const double rounding = rounding_of_steps(a, k, preconditioned ? blocks.size : 0);
        EXPECT_LE((dense(x) - best).norm(), rounding * sensitivity.solution);
        const auto residual = static_cast<double>((dense(b) - dense(a) * best).norm());
        EXPECT_NEAR(report.history.back(), residual, rounding * sensitivity.residual);
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
        // r = s^2 r + s c v, of norm |s| times the last one, of two products and a sum.
        const double rounding = (is_complex<T> ? 3 : 1) * 3 * std::numeric_limits<real_t<T>>::epsilon();
        for (std::size_t i = 1; i < report.history.size(); ++i)
          EXPECT_LE(report.history[i], report.history[i - 1] * (1 + rounding)) << "iteration " << i;
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
  const struct {
    CsrMatrix<T> a;
    std::vector<T> b;
    double least;  ///< singular value but 0
  } cases[] = {{diagonal<T>({1, 0}), {T(1), T(1)}, 1},
               {diagonal<T>({3, -2, 0, 1}), {T(1), T(-1), T(1), T(2)}, 1},
               {path<T>(4), random_vector<T>(4, 45), 2 - std::sqrt(2.0)}};
  for (const auto& [a, b, least] : cases) {
    SCOPED_TRACE(a.rows());
    std::vector<T> x(b.size());
    const SolveReport report = minres(LinearOperator<T>(backend, a), {}, b, x);
    EXPECT_EQ(report.reason, StopReason::stagnation) << to_text(report);
    const WideDense<T> r = dense(b) - product(dense(a), dense(x));
    const long double norm = infinity_norm(dense(a));
    const Sensitivity sensitivity(dense(b).norm(), norm, dense(x).norm(), r.norm(), least);
    EXPECT_LE((dense(a) * r).norm(), norm * rounding_of_steps(a, report.iterations, 0) * sensitivity.residual);
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
