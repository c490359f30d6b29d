#include "backends/storage.hpp"
#include "support/backends.hpp"

#include <limits>
#include <vector>

namespace blockjacobi::test {
namespace {

template <class Case>
class HermitianBlocksOnBackend : public BackendTest<Case> {
 protected:
  using Element = typename Case::Scalar;
  /// Definite but for one above 32, which is not.
  const BlockDiagonal<Element> blocks_ = [] {
    auto a = definite_blocks<Element>({20, 33, 64, 64, 50, 40, 31, 17}, 9);
    a.blocks[4](7, 7) = -a.blocks[4](7, 7);
    return a;
  }();
  const CsrMatrix<Element> matrix_ = blocks_.matrix();
  static constexpr index_t indefinite = 4;

  /// Whether the definite blocks above 32 have inverses that are exactly Hermitian, as they have if it was known that
  /// the matrix is; all inverses are right whatever was known.
  bool are_hermitian(const BlockJacobi<Element>& m) const {
    EXPECT_EQ(m.info(), std::vector<int>(blocks_.blocks.size(), 0));
    int exact = 0, above = 0;
    for (index_t b = 0; b < m.partition().blocks(); ++b) {
      const Dense<Element> x = stored_inverse(m, b);
      EXPECT_LE(inverse_error<Element>(blocks_.blocks[static_cast<std::size_t>(b)], x), 10.0);
      if (x.rows() <= 32) {
        EXPECT_FALSE(x == Dense<Element>(x.adjoint()));
      }
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
  const SparseMatrix<T> none(backend, this->matrix_, {.symmetry = Symmetry::none});
  EXPECT_FALSE(this->are_hermitian(BlockJacobi<T>(none, this->blocks_.partition())));
}

/// What symmetry() finds counts for the values that there were then, which their owner may change at any time.
TYPED_TEST(HermitianBlocksOnBackend, FoundIsNotStated) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> matrix(backend, this->matrix_);
  ASSERT_TRUE(matrix.is_hermitian());
  BlockJacobi<T> m(matrix, this->blocks_.partition());
  EXPECT_FALSE(this->are_hermitian(m));
  // the statement of the matrix whose values are taken
  m.refresh(SparseMatrix<T>(backend, this->matrix_, {.symmetry = Symmetry::hermitian}));
  EXPECT_TRUE(this->are_hermitian(m));
  m.refresh(matrix);
  EXPECT_FALSE(this->are_hermitian(m));
}

/// l1 adds an entry to each diagonal element, with which it is a sum.
TYPED_TEST(HermitianBlocksOnBackend, SumsOnTheDiagonal) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const SparseMatrix<T> stated(backend, this->matrix_, {.symmetry = Symmetry::hermitian});
  const BlockJacobi<T> m(stated, this->blocks_.partition(), {.l1 = true});
  EXPECT_TRUE(this->are_hermitian(m));
}

/// Under every policy for singular blocks, and packed, the singular ones and the indefinite ones fare as without.
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
      EXPECT_EQ(m.inverse_block(2), expected.inverse_block(2));
      const Dense<T> x = stored_inverse(m, this->indefinite), y = stored_inverse(expected, this->indefinite);
      EXPECT_LE(static_cast<double>(infinity_norm(Dense<T>(x - y))),
                100 * static_cast<double>(infinity_norm(y)) * std::numeric_limits<real_t<T>>::epsilon());
    }
}

}  // namespace
}  // namespace blockjacobi::test
