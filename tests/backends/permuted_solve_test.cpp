#include "support/backends.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace blockjacobi::test {
namespace {

template <class Case>
using PermutedSolveOnBackend = BackendTest<Case>;
TYPED_TEST_SUITE(PermutedSolveOnBackend, BackendCases, BackendCaseName);

/// Hermitian and diagonally dominant: 3 unknowns a node, unknown c of node k has the number c nodes + k.
template <Scalar T>
CsrMatrix<T> by_components(index_t nodes, Random& random) {
  std::vector<Triplet<T>> entries;
  const auto couple = [&](index_t i, index_t j, double size) {
    const T value = static_cast<real_t<T>>(size) * random.scalar<T>();
    entries.push_back({i, j, value});
    if constexpr (is_complex<T>)
      entries.push_back({j, i, std::conj(value)});
    else
      entries.push_back({j, i, value});
  };
  for (index_t k = 0; k < nodes; ++k)
    for (index_t c = 0; c < 3; ++c) {
      const index_t i = c * nodes + k;
      entries.push_back({i, i, T(10)});
      for (index_t d = 0; d < c; ++d) couple(i, d * nodes + k, 3.0);  // strong, far away in this numbering
      if (k + 1 < nodes) couple(i, i + 1, 0.5);
    }
  return CsrMatrix<T>::from_triplets(3 * nodes, 3 * nodes, entries);
}

TYPED_TEST(PermutedSolveOnBackend, ReturnsTheSolutionInTheUsersOrder) {
  using T = typename TestFixture::Value;
  const Backend backend = TestFixture::make_backend();
  Random random(2);
  const index_t nodes = 50;
  const CsrMatrix<T> matrix = by_components<T>(nodes, random);
  std::vector<index_t> labels;
  for (index_t i = 0; i < matrix.rows(); ++i) labels.push_back(i % nodes);
  std::vector<T> expected, b(labels.size()), x(labels.size());
  for (index_t i = 0; i < matrix.rows(); ++i) expected.push_back(random.scalar<T>());
  for (index_t i = 0; i < matrix.rows(); ++i)
    for (offset_t k = matrix.view().row_offsets[i]; k < matrix.view().row_offsets[i + 1]; ++k)
      b[static_cast<std::size_t>(i)] +=
          matrix.view().values[k] * expected[static_cast<std::size_t>(matrix.view().columns[k])];

  const auto [permutation, blocks] = BlockPartition::from_labels(labels);
  EXPECT_EQ(blocks.largest_block(), 3);
  const PermutedMatrix<T> permuted(matrix, permutation);
  const LinearOperator<T> A(backend, permuted.view());
  const BlockJacobi<T> M(backend, permuted.view(), blocks);
  const std::vector<T> c = permutation.to_permuted(b);
  std::vector<T> y = permutation.to_permuted(x);
  const double rtol = sizeof(real_t<T>) == 4 ? 1e-5 : 1e-11;
  SolveOptions options;
  options.rtol = rtol;
  const SolveReport report = cg(A, M, c, y, options);
  x = permutation.to_original(y);
  EXPECT_TRUE(report.converged()) << to_text(report);
  double error = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) error = std::max(error, static_cast<double>(std::abs(x[i] - expected[i])));
  EXPECT_LT(error, 100 * rtol);

  // Blocks of the nodes see the strong couplings, blocks of neighbours in the user's numbering do not.
  const LinearOperator<T> plain(backend, matrix);
  const BlockJacobi<T> neighbours(backend, matrix, BlockPartition::uniform(matrix.rows(), 3));
  std::vector<T> z(x.size());
  EXPECT_LT(2 * report.iterations, 3 * cg(plain, neighbours, b, z, options).iterations);
}

TYPED_TEST(PermutedSolveOnBackend, RefreshTakesThePermutedValues) {
  using T = typename TestFixture::Value;
  const Backend backend = TestFixture::make_backend();
  Random random(4);
  CsrMatrix<T> matrix = by_components<T>(12, random);
  std::vector<index_t> labels;
  for (index_t i = 0; i < matrix.rows(); ++i) labels.push_back(i % 12);
  const auto [permutation, blocks] = BlockPartition::from_labels(labels);
  PermutedMatrix<T> permuted(matrix, permutation);
  BlockJacobi<T> M(backend, permuted.view(), blocks);

  for (T& value : matrix.values()) value *= T(2);
  permuted.update(matrix.values());
  const Array<T> values(backend, std::vector<T>(permuted.view().values, permuted.view().values + permuted.nnz()));
  M.refresh(values.data(), permuted.nnz(), backend.memory_space());
  const BlockJacobi<T> fresh(backend, PermutedMatrix<T>(matrix, permutation).view(), blocks);
  for (index_t block = 0; block < blocks.blocks(); ++block)
    EXPECT_EQ(M.inverse_block(block), fresh.inverse_block(block));
}

template <class Case>
class PermutedSolve : public BackendTest<Case> {};
TYPED_TEST_SUITE(PermutedSolve, BackendCases, BackendCaseName);

/// A user's labels for a system with 3 unknowns a node: a node that has no label gives its own to the nodes without one
/// that are coupled most to those which have it, until they are `most`.
template <Scalar T>
std::vector<index_t> labels_of_nodes(const CsrMatrix<T>& matrix, index_t most) {
  const auto a = matrix.view();
  const index_t nodes = a.rows / 3;
  std::vector<std::map<index_t, double>> strength(static_cast<std::size_t>(nodes));
  for (index_t i = 0; i < a.rows; ++i)
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
      strength[static_cast<std::size_t>(i / 3)][a.columns[k] / 3] += static_cast<double>(std::abs(a.values[k]));
  std::vector<index_t> label_of(static_cast<std::size_t>(nodes), -1);
  for (index_t label = 0; label < nodes; ++label) {
    if (label_of[static_cast<std::size_t>(label)] >= 0) continue;
    std::map<index_t, double> candidates;
    index_t next = label;
    for (index_t taken = 1;; ++taken) {
      label_of[static_cast<std::size_t>(next)] = label;
      candidates.erase(next);
      for (const auto& [node, weight] : strength[static_cast<std::size_t>(next)])
        if (label_of[static_cast<std::size_t>(node)] < 0) candidates[node] += weight;
      if (taken == most || candidates.empty()) break;
      next = std::ranges::max_element(candidates, {}, [](const auto& candidate) { return candidate.second; })->first;
    }
  }
  std::vector<index_t> labels;
  for (index_t i = 0; i < a.rows; ++i) labels.push_back(label_of[static_cast<std::size_t>(i / 3)]);
  return labels;
}

/// ||b - A x|| / ||b||, in double.
template <Scalar T>
double relative_residual(const CsrMatrix<T>& matrix, const std::vector<T>& x, const std::vector<T>& b) {
  using Wide = std::complex<double>;
  const auto a = matrix.view();
  double residual = 0.0, norm = 0.0;
  for (index_t i = 0; i < a.rows; ++i) {
    Wide r(b[static_cast<std::size_t>(i)]);
    norm += std::norm(r);
    for (offset_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
      r -= Wide(a.values[k]) * Wide(x[static_cast<std::size_t>(a.columns[k])]);
    residual += std::norm(r);
  }
  return std::sqrt(residual / norm);
}

/// Elasticity with 3 unknowns a node, in which the nodes that are coupled most are no neighbours.
TYPED_TEST(PermutedSolve, LabelsOfRealSystems) {
  using T = typename TestFixture::Value;
  const char* folder = std::getenv("BLOCKJACOBI_MATRICES");
  if (folder == nullptr) GTEST_SKIP() << "BLOCKJACOBI_MATRICES does not name a folder with real matrices";
  const Backend backend = TestFixture::make_backend();
  SolveOptions options;
  options.rtol = sizeof(real_t<T>) == 4 ? 1e-3 : 1e-8;
  Random random(8);
  for (const char* name : {"hypre_beam_tet_dof2475", "ml_elasticity1"}) {
    SCOPED_TRACE(name);
    const auto matrix = read_matrix_market<T>(std::string(folder) + "/" + name + ".mtx.gz");
    std::vector<T> b(static_cast<std::size_t>(matrix.rows())), x(b.size());
    for (T& element : b) element = random.scalar<T>();

    const auto [permutation, blocks] = BlockPartition::from_labels(labels_of_nodes(matrix, 10));
    EXPECT_FALSE(permutation.is_identity());
    EXPECT_EQ(blocks.largest_block(), 30);
    const PermutedMatrix<T> permuted(matrix, permutation);
    const LinearOperator<T> A(backend, permuted.view());
    const BlockJacobi<T> M(backend, permuted.view(), blocks);
    std::vector<T> y = permutation.to_permuted(x);
    const SolveReport report = cg(A, M, permutation.to_permuted(b), y, options);
    x = permutation.to_original(y);
    EXPECT_TRUE(report.converged()) << to_text(report);
    EXPECT_LE(relative_residual(matrix, x, b), 1.1 * options.rtol);

    const LinearOperator<T> plain(backend, matrix);
    for (const index_t size : {1, 30}) {
      const BlockJacobi<T> neighbours(backend, matrix, BlockPartition::uniform(matrix.rows(), size));
      std::vector<T> z(x.size());
      const SolveReport other = cg(plain, neighbours, b, z, options);
      EXPECT_TRUE(other.converged()) << to_text(other);
      EXPECT_LT(report.iterations, (size == 1 ? 0.8 : 1.0) * other.iterations) << "uniform " << size;
    }
  }
}

/// A device's matrix is partitioned as the host's.
TYPED_TEST(PermutedSolveOnBackend, DetectsTheSameWhereverTheMatrixLies) {
  using T = typename TestFixture::Value;
  const Backend backend = TestFixture::make_backend();
  Random random(6);
  const CsrMatrix<T> matrix = by_components<T>(40, random);
  const Array<offset_t> offsets(backend,
                                std::vector<offset_t>(matrix.row_offsets().begin(), matrix.row_offsets().end()));
  const Array<index_t> columns(backend, std::vector<index_t>(matrix.columns().begin(), matrix.columns().end()));
  const Array<T> values(backend,
                        std::vector<T>(std::as_const(matrix).values().begin(), std::as_const(matrix).values().end()));
  const CsrView<T> view{matrix.rows(),  matrix.cols(), matrix.nnz(),    offsets.data(),
                        columns.data(), values.data(), IndexBase::zero, backend.memory_space()};
  for (const Merge merge : {Merge::none, Merge::greedy, Merge::coupled})
    for (const double tolerance : {0.0, 0.4}) {
      const DetectOptions options{.max_size = 8, .tolerance = tolerance, .merge = merge, .coupling = 0.02};
      EXPECT_EQ(BlockPartition::detect(backend, view, options), BlockPartition::detect(matrix, options));
    }
}

}  // namespace
}  // namespace blockjacobi::test
