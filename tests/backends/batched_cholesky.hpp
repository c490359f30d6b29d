#pragma once

#include "support/batch.hpp"
#include "support/hard_matrices.hpp"

namespace blockjacobi::test {

using batched::SpdStorage;
using batched::Triangle;

inline constexpr Triangle triangles[] = {Triangle::lower, Triangle::upper};

inline bool inside(Triangle triangle, Eigen::Index i, Eigen::Index j) {
  return triangle == Triangle::lower ? i >= j : i <= j;
}

/// The triangle of `a`, NaN in the other one, and a number that nobody should read in the imaginary diagonal.
template <Scalar T>
Dense<T> only_triangle(Triangle triangle, Dense<T> a) {
  for (Eigen::Index j = 0; j < a.cols(); ++j)
    for (Eigen::Index i = 0; i < a.rows(); ++i)
      if (!inside(triangle, i, j)) a(i, j) = T(std::numeric_limits<real_t<T>>::quiet_NaN());
  if constexpr (is_complex<T>)
    for (Eigen::Index i = 0; i < a.rows(); ++i) a(i, i) = T(std::real(a(i, i)), std::abs(a(i, i)) * 7);
  return a;
}

template <Scalar T>
std::vector<Dense<T>> only_triangles(Triangle triangle, const std::vector<NamedMatrix<T>>& matrices) {
  std::vector<Dense<T>> result;
  for (const auto& m : matrices) result.push_back(only_triangle(triangle, m.matrix));
  return result;
}

/// The Hermitian matrix of a triangle. Expects the other triangle to be NaN still.
template <Scalar T>
Dense<T> completed(Triangle triangle, const Dense<T>& a) {
  Dense<T> full = a;
  for (Eigen::Index j = 0; j < a.cols(); ++j)
    for (Eigen::Index i = 0; i < a.rows(); ++i)
      if (!inside(triangle, i, j)) {
        EXPECT_TRUE(std::isnan(std::real(a(i, j)))) << "(" << i << ", " << j << ") was written";
        full(i, j) = Eigen::numext::conj(a(j, i));
      }
  return full;
}

template <Scalar T>
double cholesky_error(Triangle triangle, const Dense<T>& a, const Dense<T>& factor) {
  WideDense<T> f = widened(completed(triangle, factor));
  f = triangle == Triangle::lower ? WideDense<T>(f.template triangularView<Eigen::Lower>())
                                  : WideDense<T>(f.template triangularView<Eigen::Upper>());
  const WideDense<T> square = triangle == Triangle::lower ? adjoint_square(f) : adjoint_product(f, f);
  return scaled_error<T>(widened(a) - square, a.rows(), infinity_norm(widened(a)));
}

/// The factors by potrf, in the place of `a`. Expects its info, and that nothing between the matrices changes.
template <Scalar T>
std::vector<Dense<T>> factored(const Backend& backend, Triangle triangle, const TestBatch<T>& a,
                               const std::vector<int>& expected) {
  Array<int> info(backend, expected.size());
  batched::potrf(backend, triangle, a.view(), info.data());
  EXPECT_EQ(info.to_host(), expected);
  EXPECT_TRUE(a.padding_untouched());
  return a.matrices();
}

template <Scalar T>
struct FactorsAndInverses {
  std::vector<Dense<T>> factors, inverses;
};

/// The factors, and the inverses that potri makes of them in their place. Expects success, and that nothing between the
/// matrices changes.
template <Scalar T>
FactorsAndInverses<T> factored_and_inverted(const Backend& backend, Triangle triangle,
                                            const std::vector<Dense<T>>& matrices, index_t padding = 0) {
  const TestBatch<T> a(backend, matrices, {.padding = padding});
  const std::vector<int> no_failure(matrices.size());
  const auto factors = factored(backend, triangle, a, no_failure);
  Array<int> info(backend, matrices.size());
  batched::potri(backend, triangle, a.view(), info.data());
  EXPECT_EQ(info.to_host(), no_failure);
  EXPECT_TRUE(a.padding_untouched());
  return {factors, a.matrices()};
}

/// What spd_inverse of `a` leaves in `x`. Expects its info.
template <Scalar T>
std::vector<Dense<T>> spd_inverses(const Backend& backend, Triangle triangle, const TestBatch<T>& a,
                                   const TestBatch<T>& x, SpdStorage storage, const std::vector<int>& expected) {
  Array<int> info(backend, expected.size());
  batched::spd_inverse(backend, triangle, a.view(), x.view_for(a), storage, info.data());
  EXPECT_EQ(info.to_host(), expected);
  return x.matrices();
}

/// Unpacks LAPACK's packed triangle from the start of the storage of x.
template <Scalar T>
Dense<T> unpacked(Triangle triangle, const T* packed, index_t n) {
  Dense<T> full(n, n);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = triangle == Triangle::lower ? j : 0; i < (triangle == Triangle::lower ? n : j + 1); ++i) {
      full(i, j) = *packed++;
      full(j, i) = Eigen::numext::conj(full(i, j));
    }
  for (index_t i = 0; i < n; ++i) {
    EXPECT_EQ(std::imag(full(i, i)), 0);
    full(i, i) = T(std::real(full(i, i)));
  }
  return full;
}

}  // namespace blockjacobi::test
