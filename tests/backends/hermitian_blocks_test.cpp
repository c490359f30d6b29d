#include "backends/storage.hpp"
#include "support/backends.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace blockjacobi::test {
namespace {

template <class Case>
class HermitianBlocksOnBackend : public BackendTest<Case> {
 protected:
  using Element = typename Case::Scalar;
  /// Definite but for the second last, which is not.
  const BlockDiagonal<Element> blocks_ = [] {
    auto a = definite_blocks<Element>({20, 33, 64, 64, 50, 40}, 9);
    a.blocks[4](7, 7) = -a.blocks[4](7, 7);
    return a;
  }();
  const CsrMatrix<Element> matrix_ = blocks_.matrix();
  static constexpr index_t indefinite = 4;

  /// Whether the definite blocks above 32 have inverses that are exactly Hermitian, as they are if it was known that
  /// the matrix is; all inverses are right whatever was known.
  bool are_hermitian(const BlockJacobi<Element>& m) const {
    EXPECT_EQ(m.info(), std::vector<int>(blocks_.blocks.size(), 0));
    int exact = 0, above = 0;
    for (index_t b = 0; b < m.partition().blocks(); ++b) {
      const Dense<Element> x = stored_inverse(m, b);
      EXPECT_LE(inverse_error<Element>(blocks_.blocks[static_cast<std::size_t>(b)], x), 10.0);
      if (b == indefinite || x.rows() <= 32) continue;
      ++above;
      exact += x == Dense<Element>(x.adjoint());
    }
    EXPECT_TRUE(exact == 0 || exact == above);
    return exact != 0;
  }
};
TYPED_TEST_SUITE(HermitianBlocksOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(HermitianBlocksOnBackend, StatedOnce) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> stated(backend, this->matrix_, {.symmetry = Symmetry::hermitian});
  BlockJacobi<T> m(stated, this->blocks_.partition());
  EXPECT_TRUE(this->are_hermitian(m));
  const std::vector<T> first = m.inverse_block(2);
  m.refresh(stated.values(), stated.nnz(), backend.memory_space());
  EXPECT_TRUE(this->are_hermitian(m));
  EXPECT_EQ(m.inverse_block(2), first);
  m.rebuild(stated.values(), stated.nnz(), backend.memory_space());
  EXPECT_TRUE(this->are_hermitian(m));
  m.refresh(stated);
  EXPECT_TRUE(this->are_hermitian(m));
  // stated to be none, it has none
  const SparseMatrix<T> none(backend, this->matrix_, {.symmetry = Symmetry::none});
  EXPECT_FALSE(this->are_hermitian(BlockJacobi<T>(none, this->blocks_.partition())));
}

TYPED_TEST(HermitianBlocksOnBackend, FoundForTheValuesOfTheMatrix) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  SparseMatrix<T> matrix(backend, this->matrix_);
  BlockJacobi<T> m(matrix, this->blocks_.partition());
  EXPECT_FALSE(this->are_hermitian(m));
  ASSERT_TRUE(matrix.is_hermitian());
  m.refresh(matrix);
  EXPECT_TRUE(this->are_hermitian(m));
  // of values that somebody else has nothing is known
  m.refresh(matrix.values(), matrix.nnz(), backend.memory_space());
  EXPECT_FALSE(this->are_hermitian(m));
  matrix.update_values(this->matrix_.values());
  m.refresh(matrix);
  EXPECT_FALSE(this->are_hermitian(m));
}

TYPED_TEST(HermitianBlocksOnBackend, NotKnownWithinATolerance) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> matrix(backend, this->matrix_, {.symmetry_tolerance = 1e-3});
  ASSERT_TRUE(matrix.is_hermitian());
  EXPECT_FALSE(this->are_hermitian(BlockJacobi<T>(matrix, this->blocks_.partition())));
}

/// Under every policy for singular blocks, and packed, the blocks that are not definite have what they have without.
TYPED_TEST(HermitianBlocksOnBackend, SingularBlocksAmongThem) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  BlockDiagonal<T> a = this->blocks_;
  a.blocks[2].row(5).setZero();
  a.blocks[2].col(5).setZero();
  const CsrMatrix<T> matrix = a.matrix();
  const SparseMatrix<T> stated(backend, matrix, {.symmetry = Symmetry::hermitian}), other(backend, matrix);
  for (const SingularPolicy policy :
       {SingularPolicy::identity, SingularPolicy::scalar_jacobi, SingularPolicy::shift, SingularPolicy::pseudo_inverse})
    for (const Storage storage : {Storage::full, Storage::packed}) {
      const BlockJacobiOptions options{.singular = policy, .storage = storage};
      const BlockJacobi<T> m(stated, a.partition(), options), expected(other, a.partition(), options);
      EXPECT_EQ(m.info(), expected.info());
      EXPECT_EQ(m.defects(), 1);
      for (const index_t b : {index_t{2}, this->indefinite}) EXPECT_EQ(m.inverse_block(b), expected.inverse_block(b));
    }
}

}  // namespace
}  // namespace blockjacobi::test
