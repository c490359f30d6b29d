#include "backend/host_cholesky.hpp"
#include "backend/host_pseudo_inverse.hpp"
#include "support/hard_matrices.hpp"
#include "support/reference_lu.hpp"

#include <gtest/gtest.h>

namespace blockjacobi::test {
namespace {

using detail::compute_cast;
using detail::compute_t;
using detail::MatrixRef;

template <class T>
class HostDense : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(HostDense, Scalars);

template <Scalar T>
MatrixRef<compute_t<T>> ref(Dense<T>& a) {
  const auto rows = static_cast<index_t>(a.rows());
  return {compute_cast(a.data()), rows, static_cast<index_t>(a.cols()), rows};
}

TYPED_TEST(HostDense, DividesByPivotsWhoseReciprocalOverflows) {
  using T = TypeParam;
  using R = real_t<T>;
  using C = compute_t<T>;
  const R smallest = std::numeric_limits<R>::denorm_min(), largest = std::numeric_limits<R>::max() / 4;
  for (const R size : {64 * smallest, std::numeric_limits<R>::min(), R(3), largest}) {
    T values[] = {T(size), T(-size / 2), T(size / 4)};
    detail::Divisor<C>(*compute_cast(&values[0])).divide(3, compute_cast(values));
    const R tolerance = 4 * std::numeric_limits<R>::epsilon();
    EXPECT_LE(std::abs(values[0] - T(1)), tolerance) << size;
    EXPECT_LE(std::abs(values[1] - T(R(-0.5))), tolerance) << size;
    EXPECT_LE(std::abs(values[2] - T(R(0.25))), tolerance) << size;
  }
}

TYPED_TEST(HostDense, PaneledLuChoosesThePivotsOfTheTextbook) {
  using T = TypeParam;
  Random random(1);
  for (const index_t n : {0, 1, 31, 32, 33, 64, 65, 150}) {
    Dense<T> a = uniform_random<T>(n, n, random), wide = Dense<T>::Constant(n + 2, n, T(-1));
    wide.topRows(n) = a;
    std::vector<index_t> pivots(static_cast<std::size_t>(n) + 1), strided(pivots.size());
    const auto reference = reference_lu(a);
    EXPECT_EQ(detail::lu_paneled<T>(ref(a), pivots.data()), 0);
    EXPECT_EQ(detail::lu_paneled<T>(MatrixRef<compute_t<T>>{compute_cast(wide.data()), n, n, n + 2}, strided.data()),
              0);
    EXPECT_TRUE((wide.bottomRows(2).array() == T(-1)).all());
    EXPECT_EQ(Dense<T>(wide.topRows(n)), a) << "the leading dimension changes nothing, order " << n;
    for (index_t k = 0; k < n; ++k) {
      const auto i = static_cast<std::size_t>(k);
      EXPECT_EQ(pivots[i], strided[i]);
      if (std::is_same_v<real_t<T>, double>) {
        EXPECT_EQ(pivots[i] + 1, reference.ipiv[i]) << "order " << n;
      }
    }
  }
}

TYPED_TEST(HostDense, PaneledLuNamesTheFirstOfSeveralZeroPivots) {
  using T = TypeParam;
  for (const index_t zero : {0, 31, 32, 40, 63, 64}) {
    Dense<T> a = Dense<T>::Identity(70, 70);
    a(zero, zero) = a(66, 66) = T(0);
    std::vector<index_t> pivots(70);
    EXPECT_EQ(detail::lu_paneled<T>(ref(a), pivots.data()), zero + 1);
  }
}

TYPED_TEST(HostDense, TrianglesAreLoadedAndStoredAlikeInEveryStorage) {
  using T = TypeParam;
  using C = compute_t<T>;
  using batched::Triangle;
  constexpr index_t n = 7;
  Random random(2);
  Dense<T> a = uniform_random<T>(n, n, random);
  a = (a + a.adjoint()).eval();
  const Dense<T> upper = a.template triangularView<Eigen::Upper>();
  for (const Triangle side : {Triangle::lower, Triangle::upper}) {
    Dense<T> full = a, packed = Dense<T>::Zero(n, n);
    const auto rectangle = detail::Triangle<C>::rectangular(side, ref(full));
    const auto triangle = detail::Triangle<C>::packed(side, compute_cast(packed.data()), n);
    detail::copy_triangle(rectangle, triangle);
    EXPECT_TRUE((packed.reshaped().tail(n * n - n * (n + 1) / 2).array() == T(0)).all());
    Dense<T> from_full = Dense<T>::Zero(n, n), from_packed = Dense<T>::Zero(n, n);
    rectangle.load(0, 0, ref(from_full));
    triangle.load(0, 0, ref(from_packed));
    EXPECT_EQ(from_full, upper);
    EXPECT_EQ(from_packed, upper);
    Dense<T> block = Dense<T>::Zero(2, 3);
    triangle.load(1, 4, ref(block));
    EXPECT_EQ(block, Dense<T>(upper.block(1, 4, 2, 3)));
    block *= T(2);
    triangle.store(1, 4, ref(block));
    triangle.load(0, 0, ref(from_packed));
    EXPECT_EQ(Dense<T>(from_packed.block(1, 4, 2, 3)), block);
    // In place: packed at the start of the rectangle.
    const auto in_place = detail::Triangle<C>::packed(side, compute_cast(full.data()), n);
    detail::copy_triangle(rectangle, in_place);
    in_place.load(0, 0, ref(from_full));
    EXPECT_EQ(from_full, upper);
  }
}

TYPED_TEST(HostDense, ReflectorsOfTinyAndHugeVectors) {
  using T = TypeParam;
  using R = real_t<T>;
  const R tolerance = 8 * std::numeric_limits<R>::epsilon();
  for (const R scale : {std::numeric_limits<R>::min(), R(1), std::numeric_limits<R>::max() / 8}) {
    T x[] = {T(3 * scale), T(0), T(4 * scale)};
    const auto tau = detail::make_reflector(3, compute_cast(x));
    EXPECT_LE(std::abs(detail::real_part(tau) - R(1.6)), tolerance) << scale;
    EXPECT_LE(std::abs(x[0] / scale - T(-5)), 5 * tolerance) << scale;
    EXPECT_EQ(x[1], T(0));
    EXPECT_LE(std::abs(x[2] - T(R(0.5))), tolerance) << scale;
  }
  T zero[] = {T(2), T(0), T(0)};
  EXPECT_TRUE(detail::is_zero(detail::make_reflector(3, compute_cast(zero))));
  EXPECT_EQ(zero[0], T(2));
}

}  // namespace
}  // namespace blockjacobi::test
