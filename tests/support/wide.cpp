#include "support/wide.hpp"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

#include <optional>

namespace blockjacobi::test {

namespace {

template <class M>
long double norm_of(const M& a) {
  if (a.rows() == 0) return 0.0L;
  // Eigen's maximum passes over NaN unless told not to.
  return static_cast<long double>(a.cwiseAbs().rowwise().sum().template maxCoeff<Eigen::PropagateNaN>());
}
template <class M>
bool has_cholesky(const M& a) {
  const M hermitian = a + a.adjoint();
  return Eigen::LLT<M>(hermitian).info() == Eigen::Success;
}
template <class M>
M identity_like(const M& a) {
  return M::Identity(a.rows(), a.rows());
}

/// The same numbers as doubles, which those are that come from the library.
std::optional<Eigen::MatrixXd> as_doubles(const WideReal& a) {
  Eigen::MatrixXd narrow = a.cast<double>();
  if (narrow.cast<long double>() != a) return std::nullopt;  // also where there is a NaN
  return narrow;
}

/// A^T B. The sums have all bits of long double, as Eigen's; doubles are read in a quarter of the time, and the host's
/// tests of large matrices are mostly such products.
WideReal transposed_product(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  const Eigen::Index length = a.rows(), columns = b.cols();
  WideReal c(a.cols(), columns);
  for (Eigen::Index i = 0; i < a.cols(); ++i) {
    const double* x = a.data() + i * length;
    Eigen::Index j = 0;
    for (; j + 4 <= columns; j += 4) {
      const double *y0 = b.data() + j * length, *y1 = y0 + length, *y2 = y1 + length, *y3 = y2 + length;
      long double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
      for (Eigen::Index k = 0; k < length; ++k) {
        const long double factor = x[k];
        s0 += factor * y0[k];
        s1 += factor * y1[k];
        s2 += factor * y2[k];
        s3 += factor * y3[k];
      }
      c(i, j) = s0;
      c(i, j + 1) = s1;
      c(i, j + 2) = s2;
      c(i, j + 3) = s3;
    }
    for (; j < columns; ++j) {
      const double* y = b.data() + j * length;
      long double sum = 0;
      for (Eigen::Index k = 0; k < length; ++k) sum += static_cast<long double>(x[k]) * y[k];
      c(i, j) = sum;
    }
  }
  return c;
}

}  // namespace

WideReal product(const WideReal& a, const WideReal& b) {
  const auto narrow_a = as_doubles(a), narrow_b = as_doubles(b);
  if (!narrow_a || !narrow_b) return a * b;
  return transposed_product(narrow_a->transpose(), *narrow_b);
}
WideComplex product(const WideComplex& a, const WideComplex& b) {
  // A test that is mostly such products takes 0.6 of the time that it takes with Eigen's of complex matrices.
  const WideReal a_real = a.real(), a_imag = a.imag(), b_real = b.real(), b_imag = b.imag();
  WideComplex c(a.rows(), b.cols());
  c.real() = product(a_real, b_real) - product(a_imag, b_imag);
  c.imag() = product(a_real, b_imag) + product(a_imag, b_real);
  return c;
}
WideReal adjoint_product(const WideReal& a, const WideReal& b) { return product(WideReal(a.adjoint()), b); }
WideComplex adjoint_product(const WideComplex& a, const WideComplex& b) { return product(WideComplex(a.adjoint()), b); }
WideReal adjoint_square(const WideReal& a) { return product(a, WideReal(a.adjoint())); }
WideComplex adjoint_square(const WideComplex& a) { return product(a, WideComplex(a.adjoint())); }
WideReal defect_of_identity(const WideReal& a, const WideReal& b) { return identity_like(a) - product(a, b); }
WideComplex defect_of_identity(const WideComplex& a, const WideComplex& b) { return identity_like(a) - product(a, b); }
WideReal inverse_of(const WideReal& a) { return a.inverse(); }
WideComplex inverse_of(const WideComplex& a) { return a.inverse(); }
long double infinity_norm(const WideReal& a) { return norm_of(a); }
long double infinity_norm(const WideComplex& a) { return norm_of(a); }
long double distance(const WideReal& a, const WideReal& b) { return norm_of<WideReal>(a - b); }
long double distance(const WideComplex& a, const WideComplex& b) { return norm_of<WideComplex>(a - b); }
WideReal cholesky_factor(const WideReal& a) { return Eigen::LLT<WideReal>(a).matrixL(); }
WideComplex cholesky_factor(const WideComplex& a) { return Eigen::LLT<WideComplex>(a).matrixL(); }
WideReal orthonormal(const WideReal& a) { return a.householderQr().householderQ(); }
WideComplex orthonormal(const WideComplex& a) { return a.householderQr().householderQ(); }
WideReal least_squares(const WideReal& a, const WideReal& b) { return a.householderQr().solve(b); }
WideComplex least_squares(const WideComplex& a, const WideComplex& b) { return a.householderQr().solve(b); }
bool is_definite(const WideReal& a) { return has_cholesky(a); }
bool is_definite(const WideComplex& a) { return has_cholesky(a); }

}  // namespace blockjacobi::test
