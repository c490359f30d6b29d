#include "precond/relaxed_vectors.hpp"
#include "backends/systems.hpp"
#include "matrices/generators/elasticity.hpp"
#include "matrices/generators/stencil.hpp"
#include "support/backends.hpp"
#include "support/bits.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

template <class Case>
class RelaxedVectorsOnBackend : public BackendTest<Case> {};
TYPED_TEST_SUITE(RelaxedVectorsOnBackend, BackendCases, BackendCaseName);

/// ||A v|| / ||v|| of each of `count` vectors, row by row.
template <Scalar T>
std::vector<double> quotients(const CsrMatrix<T>& a, const std::vector<T>& vectors, std::size_t count) {
  std::vector<double> found;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<T> v;
    for (std::size_t i = k; i < vectors.size(); i += count) v.push_back(vectors[i]);
    found.push_back(norm(product(a, v)) / norm(v));
  }
  return found;
}

template <Scalar T>
SolveOptions six_digits() {
  return options_for<T>(std::is_same_v<real_t<T>, double> ? 1e-6 : 1e-4);
}

template <Scalar T>
index_t iterations_of_cg(const SparseMatrix<T>& matrix, const Preconditioner<T>& M) {
  const CsrMatrix<T> host_matrix = matrix.to_host();
  const std::vector<T> b = product(host_matrix, random_vector<T>(host_matrix.rows(), 61));
  std::vector<T> x(b.size());
  const SolveOptions options = six_digits<T>();
  const SolveReport report = cg(LinearOperator<T>(matrix), M, b, x, options);
  expect_solved(report, host_matrix, b, x, options.rtol);
  return report.iterations;
}

TYPED_TEST(RelaxedVectorsOnBackend, AreNearTheKernel) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  for (const double wind : {0.0, 0.4}) {
    SCOPED_TRACE(wind);
    const CsrMatrix<T> a = grid_matrix<T>(40, wind);
    const SparseMatrix<T> matrix(backend, a);
    const BlockJacobi<T> M(matrix, BlockPartition::uniform(a.rows(), 8));
    const std::vector<T> found = detail::relaxed_vectors(matrix, M, 3).to_host();
    ASSERT_EQ(found.size(), 3 * static_cast<std::size_t>(a.rows()));
    // random vectors have 4.6 and more, the kernel's neighbourhood 0.2
    for (const double quotient : quotients(a, found, 3)) EXPECT_LE(quotient, 1.2);
    EXPECT_TRUE(same_bits(found, detail::relaxed_vectors(matrix, M, 3).to_host()));
  }
}

/// -1, 2, -1 with 1 at both ends.
TYPED_TEST(RelaxedVectorsOnBackend, OnesOfTheKernelStay) {
  using T = typename TypeParam::Scalar;
  constexpr index_t n = 60;
  std::vector<Triplet<T>> entries;
  for (index_t i = 0; i < n; ++i) {
    entries.push_back({i, i, T(i == 0 || i + 1 == n ? 1 : 2)});
    if (i > 0) entries.push_back({i, i - 1, T(-1)});
    if (i + 1 < n) entries.push_back({i, i + 1, T(-1)});
  }
  const SparseMatrix<T> matrix(this->make_backend(), CsrMatrix<T>::from_triplets(n, n, entries));
  const BlockJacobi<T> M(matrix, BlockPartition::uniform(n, 4));
  EXPECT_EQ(detail::relaxed_vectors(matrix, M, 1).to_host(), std::vector<T>(n, T(1)));
}

/// CG stops at once; GMRES goes on.
TYPED_TEST(RelaxedVectorsOnBackend, OfAnIndefiniteMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  CsrMatrix<T> a = grid_matrix<T>(30);
  for (T& value : a.values())
    if (std::real(value) > 0) value -= T(1);
  const SparseMatrix<T> matrix(backend, a);
  ASSERT_TRUE(matrix.is_hermitian());
  const BlockJacobi<T> M(matrix, BlockPartition::uniform(a.rows(), 1));
  const std::vector<T> found = detail::relaxed_vectors(matrix, M, 4).to_host();
  for (const double quotient : quotients(a, found, 4)) EXPECT_LE(quotient, 1.0);
}

/// D A D with signs that make the kernel of A anything but smooth.
template <Scalar T>
CsrMatrix<T> with_random_signs(CsrMatrix<T> a) {
  Random random(63);
  std::vector<real_t<T>> signs(static_cast<std::size_t>(a.rows()));
  for (real_t<T>& sign : signs) sign = random.index(2) == 0 ? real_t<T>(1) : real_t<T>(-1);
  for (std::size_t i = 0; i < signs.size(); ++i)
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k) {
      const auto entry = static_cast<std::size_t>(k);
      a.values()[entry] *= signs[i] * signs[static_cast<std::size_t>(a.columns()[entry])];
    }
  return a;
}

TYPED_TEST(RelaxedVectorsOnBackend, FindWhatOnesAreNot) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto host_matrix =
      with_random_signs(matrices::stencil<T>({.grid = {60, 60, 1}, .contrast = 100.0, .phase = 0.0}));
  const SparseMatrix<T> matrix(backend, host_matrix);
  const auto jacobi = [&] { return BlockJacobi<T>(matrix, BlockPartition::uniform(matrix.rows(), 6)); };
  const index_t alone = iterations_of_cg<T>(matrix, jacobi());
  const index_t ones = iterations_of_cg<T>(matrix, TwoLevel<T>(matrix, jacobi(), {.size = 128}));
  const index_t relaxed = iterations_of_cg<T>(matrix, TwoLevel<T>(matrix, jacobi(), {.size = 128, .relaxed = 4}));
  EXPECT_GE(ones, 0.8 * alone);
  EXPECT_LE(relaxed, (std::is_same_v<real_t<T>, double> ? 0.6 : 0.75) * alone);
}

TYPED_TEST(RelaxedVectorsOnBackend, RigidMotionsOfAnElasticBody) {
  using T = typename TypeParam::Scalar;
  const auto host_matrix = matrices::elasticity<T>({.elements = {16, 4, 4}});
  const SparseMatrix<T> matrix(this->make_backend(), host_matrix, {.block_size = 3});
  const auto jacobi = [&] { return BlockJacobi<T>(matrix, BlockPartition::uniform(matrix)); };
  std::vector<double> coordinates;
  for (int z = 0; z <= 4; ++z)
    for (int y = 0; y <= 4; ++y)
      for (int x = 1; x <= 16; ++x) coordinates.insert(coordinates.end(), {1.0 * x, 1.0 * y, 1.0 * z});
  const NearKernel<T> modes = rigid_body_modes<T>(coordinates, 3);
  const TwoLevel<T> M(matrix, jacobi(), modes.view(), {.size = 96});
  EXPECT_LE(iterations_of_cg<T>(matrix, M), 0.6 * iterations_of_cg<T>(matrix, jacobi()));
}

TYPED_TEST(RelaxedVectorsOnBackend, NonsymmetricSystemsTakeFewerIterations) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  std::vector<Triplet<T>> entries = grid_entries<T>(60, 0.1);
  for (Triplet<T>& entry : entries)
    if (entry.row == entry.col) entry.value -= T(static_cast<real_t<T>>(is_complex<T> ? 0.0 : 0.19));
  const auto a = CsrMatrix<T>::from_triplets(3600, 3600, entries);
  const SparseMatrix<T> matrix(backend, a);
  const auto jacobi = [&] { return BlockJacobi<T>(matrix, BlockPartition::uniform(a.rows(), 6)); };
  const std::vector<T> b = product(a, random_vector<T>(a.rows(), 62));
  const SolveOptions options = six_digits<T>();
  const auto iterations = [&](const Preconditioner<T>& M) {
    std::vector<T> x(b.size());
    const SolveReport report = gmres(LinearOperator<T>(matrix), M, b, x, options);
    expect_solved(report, a, b, x, options.rtol);
    return report.iterations;
  };
  const TwoLevel<T> relaxed(matrix, jacobi(), {.relaxed = 4});
  EXPECT_EQ(relaxed.report().mode, CoarseMode::adef1);
  EXPECT_LE(relaxed.report().size, 4 * relaxed.report().aggregates);
  EXPECT_LE(iterations(relaxed), (is_complex<T> ? 0.85 : 0.7) * iterations(jacobi()));
}

/// Rows of a node stay together and in their order.
TYPED_TEST(RelaxedVectorsOnBackend, OnesOfUnknownsAreThoseOfTheRenumberedSystem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto host_matrix = matrices::stencil<T>({.grid = {12, 10, 1}, .unknowns = 3});
  const SparseMatrix<T> matrix(backend, host_matrix, {.block_size = 3});
  const auto [permutation, blocks] = BlockPartition::clusters(matrix, 16);
  ASSERT_FALSE(permutation.is_identity());
  for (std::size_t k = 0; k < permutation.order().size(); ++k)
    EXPECT_EQ(permutation.order()[k] % 3, static_cast<index_t>(k % 3));
  EXPECT_EQ(blocks.largest_block() % 3, 0);
  const SparseMatrix<T> renumbered(backend, PermutedMatrix<T>(host_matrix, permutation).view(), {.block_size = 3});
  const TwoLevel<T> M(renumbered, BlockJacobi<T>(renumbered, blocks), {.size = 24});
  EXPECT_EQ(M.report().size, 3 * M.report().aggregates);
}

TYPED_TEST(RelaxedVectorsOnBackend, TheModeFitsTheMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> hermitian(backend, grid_matrix<T>(12)), windy(backend, grid_matrix<T>(12, 0.4));
  const auto blocks = BlockPartition::uniform(144, 6);
  const TwoLevel<T> M(hermitian, BlockJacobi<T>(hermitian, blocks)), N(windy, BlockJacobi<T>(windy, blocks));
  EXPECT_EQ(M.report().mode, CoarseMode::adef2);
  EXPECT_EQ(N.report().mode, CoarseMode::adef1);
}

TYPED_TEST(RelaxedVectorsOnBackend, Misuse) {
  using T = typename TypeParam::Scalar;
  const SparseMatrix<T> matrix(this->make_backend(), grid_matrix<T>(6));
  const auto jacobi = [&] { return BlockJacobi<T>(matrix, BlockPartition::uniform(36, 6)); };
  const auto expect_message = [](const char* part, auto misuse) {
    const std::string message = message_of(misuse);
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect_message("relaxed is -1", [&] { TwoLevel<T>(matrix, jacobi(), {.relaxed = -1}); });
  expect_message("relaxed is 513", [&] { TwoLevel<T>(matrix, jacobi(), {.relaxed = 513}); });
  expect_message("has 4 vectors", [&] { TwoLevel<T>(matrix, jacobi(), {.size = 3, .relaxed = 4}); });
  const std::vector<T> v(36, T(1));
  expect_message("must be 0 where vectors are given", [&] {
    TwoLevel<T>(matrix, jacobi(), {v.data(), 36, 1, 36}, {.relaxed = 2});
  });

  const LinearOperator<T> A(matrix);
  const TwoLevel<T> adef1(matrix, jacobi(), {.mode = CoarseMode::adef1}), adef2(matrix, jacobi());
  std::vector<T> x(36);
  const char* const of_cg = "the mode of the coarse level is adef1, must be additive or adef2";
  expect_message(of_cg, [&] { static_cast<void>(cg(A, adef1, v, x)); });
  expect_message(of_cg, [&] { static_cast<void>(fcg(A, adef1, v, x)); });
  expect_message(of_cg, [&] { CgWorkspace<T>(A, adef1); });
  const char* const of_minres = "the mode of the coarse level is adef2, must be additive";
  expect_message(of_minres, [&] { static_cast<void>(minres(A, adef2, v, x)); });
}

}  // namespace
}  // namespace blockjacobi::test
