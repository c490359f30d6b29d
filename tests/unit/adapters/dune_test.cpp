#include <blockjacobi/adapters/dune.hpp>

#include "support/messages.hpp"

#include <dune/istl/operators.hh>
#include <dune/istl/preconditioners.hh>
#include <dune/istl/solvers.hh>

#include <gtest/gtest.h>

#include <complex>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <type_traits>

namespace blockjacobi::test {
namespace {

template <class T, int n>
using Matrix = Dune::BCRSMatrix<Dune::FieldMatrix<T, n, n>>;
template <class T, int n>
using Vector = Dune::BlockVector<Dune::FieldVector<T, n>>;
template <class T, int n>
using Jacobi = DuneBlockJacobi<Matrix<T, n>, Vector<T, n>>;

template <class T>
T imaginary_part(double value) {
  if constexpr (std::is_same_v<T, real_t<T>>)
    return T(0);
  else
    return T(0, static_cast<real_t<T>>(value));
}

/// A k x k grid of nodes with n unknowns: neighbours coupled by -I, a node within itself by a Hermitian matrix that
/// varies from node to node, or with `skew` by one that is not.
template <class T, int n>
Matrix<T, n> grid_matrix(std::size_t k, double skew = 0) {
  Matrix<T, n> A(k * k, k * k, Matrix<T, n>::row_wise);
  for (auto row = A.createbegin(); row != A.createend(); ++row) {
    const std::size_t i = row.index();
    if (i >= k) row.insert(i - k);
    if (i % k > 0) row.insert(i - 1);
    row.insert(i);
    if (i % k + 1 < k) row.insert(i + 1);
    if (i + k < k * k) row.insert(i + k);
  }
  for (auto row = A.begin(); row != A.end(); ++row)
    for (auto block = row->begin(); block != row->end(); ++block) {
      *block = T(0);
      for (std::size_t p = 0; p < n; ++p) (*block)[p][p] = T(-1);
      if (block.index() != row.index()) continue;
      for (std::size_t p = 0; p < n; ++p)
        for (std::size_t q = 0; q < n; ++q)
          (*block)[p][q] = p == q ? T(real_t<T>(4.5 + n + static_cast<double>(row.index() % 5)))
                                  : T(real_t<T>(0.8 + (p < q ? skew : 0))) + imaginary_part<T>(p < q ? -0.1 : 0.1);
    }
  return A;
}

template <class T, int n>
Vector<T, n> right_hand_side(std::size_t blocks) {
  Vector<T, n> b(blocks);
  for (std::size_t i = 0; i < blocks; ++i)
    for (std::size_t p = 0; p < n; ++p) b[i][p] = T(real_t<T>(1 + (i * n + p) % 7) / real_t<T>(7));
  return b;
}

/// ||A_ii v_i - d_i|| over ||d||, largest element: Dune's own product is the oracle.
template <class T, int n>
real_t<T> residual_of_blocks(const Matrix<T, n>& A, const Vector<T, n>& v, const Vector<T, n>& d) {
  Vector<T, n> r = d;
  for (std::size_t i = 0; i < A.N(); ++i) A[i][i].mmv(v[i], r[i]);
  return r.infinity_norm() / d.infinity_norm();
}

template <class T>
class DuneAdapter : public ::testing::Test {
 protected:
  template <int n>
  static void expect_inverse_blocks() {
    SCOPED_TRACE(n);
    constexpr auto eps = std::numeric_limits<real_t<T>>::epsilon();
    Matrix<T, n> A = grid_matrix<T, n>(7, 0.3);
    Jacobi<T, n> M(A);
    const Vector<T, n> d = right_hand_side<T, n>(A.N());
    Vector<T, n> v(A.N());
    v = T(0);
    M.pre(v, const_cast<Vector<T, n>&>(d));
    M.apply(v, d);
    M.post(v);
    EXPECT_LE((residual_of_blocks<T, n>(A, v, d)), 10 * n * eps);
    EXPECT_EQ(M.category(), Dune::SolverCategory::sequential);
    EXPECT_EQ(M.get().partition().blocks(), 49);

    // New values, with threads, and in another storage.
    A *= T(3);
    M.update(A);
    M.apply(v, d);
    EXPECT_LE((residual_of_blocks<T, n>(A, v, d)), 10 * n * eps);
    BlockJacobiOptions options;
    options.storage = Storage::fp32;
    Jacobi<T, n> narrow(A, options, 2);
    narrow.apply(v, d);
    EXPECT_LE((residual_of_blocks<T, n>(A, v, d)), 10 * n * std::numeric_limits<float>::epsilon());
  }
};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(DuneAdapter, Scalars);

TYPED_TEST(DuneAdapter, AppliesTheInversesOfTheDiagonalBlocks) {
  this->template expect_inverse_blocks<1>();
  this->template expect_inverse_blocks<3>();
}

TYPED_TEST(DuneAdapter, SingularAndMissingBlocks) {
  using T = TypeParam;
  Matrix<T, 2> A = grid_matrix<T, 2>(3);
  Jacobi<T, 2> M(A);
  A[4][4] = T(1);  // all elements
  EXPECT_THROW((Jacobi<T, 2>(A)), SingularBlock);
  EXPECT_THROW(M.update(A), SingularBlock);
  BlockJacobiOptions options;
  options.singular = SingularPolicy::identity;
  Jacobi<T, 2> replaced(A, options);
  EXPECT_EQ(replaced.get().report().singular_blocks, 1);
  const Vector<T, 2> d = right_hand_side<T, 2>(A.N());
  Vector<T, 2> v(A.N());
  replaced.apply(v, d);
  EXPECT_EQ(v[4], d[4]);

  Matrix<T, 2> holes(3, 3, Matrix<T, 2>::row_wise);
  for (auto row = holes.createbegin(); row != holes.createend(); ++row) row.insert((row.index() + 1) / 2);
  holes = T(0);
  Jacobi<T, 2> of_holes(holes, options);
  EXPECT_EQ(of_holes.get().report().singular_blocks, 3);
}

TEST(DuneAdapterErrors, NameTheNumbers) {
  const Matrix<double, 3> A = grid_matrix<double, 3>(3);
  Jacobi<double, 3> M(A);
  Vector<double, 3> nine(9), eight(8);
  nine = 1.0;
  eight = 1.0;
  EXPECT_EQ(message_of([&] { M.apply(eight, nine); }),
            "DuneBlockJacobi::apply: v has 8 blocks, the matrix 9 block rows");
  EXPECT_EQ(message_of([&] { M.apply(nine, eight); }),
            "DuneBlockJacobi::apply: d has 8 blocks, the matrix 9 block rows");
  EXPECT_THROW(M.apply(nine, nine), InvalidArgument);
  EXPECT_THROW(M.update(grid_matrix<double, 3>(2)), InvalidArgument);
  BlockJacobiOptions l1;
  l1.l1 = true;
  EXPECT_THROW((Jacobi<double, 3>(A, l1)), InvalidArgument);
  EXPECT_THROW((Jacobi<double, 3>(A, {}, -1)), InvalidArgument);
  Matrix<double, 3> wide(1, 2, Matrix<double, 3>::row_wise);
  for (auto row = wide.createbegin(); row != wide.createend(); ++row) row.insert(0);
  EXPECT_THROW((Jacobi<double, 3>(wide)), InvalidArgument);
}

TEST(DuneAdapterSolves, CgNeedsTheIterationsOfSeqJac) {
  using M = Matrix<double, 3>;
  using V = Vector<double, 3>;
  const M A = grid_matrix<double, 3>(24);
  Dune::MatrixAdapter<M, V, V> product(A);
  const auto iterations_with = [&](Dune::Preconditioner<V, V>& preconditioner) {
    Dune::CGSolver<V> solver(product, preconditioner, 1e-8, 500, 0);
    V x(A.N()), b = right_hand_side<double, 3>(A.N());
    x = 0.0;
    const V right = b;
    Dune::InverseOperatorResult result;
    solver.apply(x, b, result);
    V r = right;
    A.mmv(x, r);
    EXPECT_TRUE(result.converged);
    EXPECT_LE(r.two_norm(), 1e-6 * right.two_norm());
    return result.iterations;
  };
  Jacobi<double, 3> ours(A);
  Dune::SeqJac<M, V, V> theirs(A, 1, 1.0);
  const int found = iterations_with(ours);
  EXPECT_LE(std::abs(found - iterations_with(theirs)), 1);
  EXPECT_GT(found, 3);
}

}  // namespace
}  // namespace blockjacobi::test
