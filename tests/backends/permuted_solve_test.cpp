#include "support/backends.hpp"
#include "support/random.hpp"

#include <algorithm>
#include <cmath>

namespace blockjacobi::test {
namespace {

template <class Case>
using SmallPermutedSolve = BackendTest<Case>;
TYPED_TEST_SUITE(SmallPermutedSolve, BackendCases, BackendCaseName);

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

TYPED_TEST(SmallPermutedSolve, ReturnsTheSolutionInTheUsersOrder) {
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

TYPED_TEST(SmallPermutedSolve, RefreshTakesThePermutedValues) {
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

/// A device's matrix is partitioned as the host's.
TYPED_TEST(SmallPermutedSolve, DetectsTheSameWhereverTheMatrixLies) {
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
