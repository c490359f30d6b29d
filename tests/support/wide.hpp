#pragma once

#include <Eigen/Core>

#include <complex>

namespace blockjacobi::test {

// Dense matrices of the precision in which residuals are evaluated. What Eigen makes of them takes long to compile, so
// it is compiled once.

using WideReal = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
using WideComplex = Eigen::Matrix<std::complex<long double>, Eigen::Dynamic, Eigen::Dynamic>;

/// A B.
WideReal product(const WideReal& a, const WideReal& b);
WideComplex product(const WideComplex& a, const WideComplex& b);
/// A^H B.
WideReal adjoint_product(const WideReal& a, const WideReal& b);
WideComplex adjoint_product(const WideComplex& a, const WideComplex& b);
/// A A^H.
WideReal adjoint_square(const WideReal& a);
WideComplex adjoint_square(const WideComplex& a);
/// I - A B.
WideReal defect_of_identity(const WideReal& a, const WideReal& b);
WideComplex defect_of_identity(const WideComplex& a, const WideComplex& b);
/// A^-1 by LU with pivots.
WideReal inverse_of(const WideReal& a);
WideComplex inverse_of(const WideComplex& a);
/// The largest sum of absolute values in a row; NaN if the matrix has one.
long double infinity_norm(const WideReal& a);
long double infinity_norm(const WideComplex& a);
/// ||A - B||.
long double distance(const WideReal& a, const WideReal& b);
long double distance(const WideComplex& a, const WideComplex& b);
/// L of A = L L^H.
WideReal cholesky_factor(const WideReal& a);
WideComplex cholesky_factor(const WideComplex& a);
/// Orthonormal columns that span those of a square A.
WideReal orthonormal(const WideReal& a);
WideComplex orthonormal(const WideComplex& a);
/// X with the least ||A X - B||, by QR.
WideReal least_squares(const WideReal& a, const WideReal& b);
WideComplex least_squares(const WideComplex& a, const WideComplex& b);
/// Whether the Hermitian part of A has a Cholesky factorization.
bool is_definite(const WideReal& a);
bool is_definite(const WideComplex& a);

}  // namespace blockjacobi::test
