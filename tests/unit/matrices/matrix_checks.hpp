#pragma once

#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/error.hpp>

#include <gtest/gtest.h>
#include <Eigen/Core>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

/// What the tests of the generators look at.
namespace matrix_checks {

using blockjacobi::CsrMatrix;
using blockjacobi::index_t;
using blockjacobi::Scalar;

template <Scalar T>
using Wide = std::conditional_t<blockjacobi::is_complex<T>, std::complex<double>, double>;

template <Scalar T>
using Dense = Eigen::Matrix<Wide<T>, Eigen::Dynamic, Eigen::Dynamic>;

// What Eigen makes of these takes long to compile, so it is compiled once.
/// Smallest over largest singular value.
double smallest_over_largest(const Eigen::MatrixXd& d);
double smallest_over_largest(const Eigen::MatrixXcd& d);
/// Cholesky's algorithm runs through.
bool has_cholesky(const Eigen::MatrixXd& d);
bool has_cholesky(const Eigen::MatrixXcd& d);
/// By LU with full pivoting.
Eigen::Index rank_of(const Eigen::MatrixXd& d);
Eigen::Index rank_of(const Eigen::MatrixXcd& d);
/// Of a symmetric matrix, the smallest first.
Eigen::VectorXd eigenvalues_of(const Eigen::MatrixXd& symmetric);

/// f(row, col, value) for every stored entry.
template <Scalar T, class F>
void for_each_entry(const CsrMatrix<T>& matrix, F&& f) {
  for (index_t row = 0; row < matrix.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const auto end = static_cast<std::size_t>(matrix.row_offsets()[r + 1]);
    for (auto k = static_cast<std::size_t>(matrix.row_offsets()[r]); k < end; ++k)
      f(row, matrix.columns()[k], matrix.values()[k]);
  }
}

template <Scalar T>
Dense<T> dense(const CsrMatrix<T>& matrix) {
  Dense<T> d = Dense<T>::Zero(matrix.rows(), matrix.cols());
  for_each_entry(matrix, [&](index_t row, index_t col, const T& value) { d(row, col) = static_cast<Wide<T>>(value); });
  return d;
}

/// 1 where an entry is stored.
template <Scalar T>
Eigen::MatrixXi pattern(const CsrMatrix<T>& matrix) {
  Eigen::MatrixXi p = Eigen::MatrixXi::Zero(matrix.rows(), matrix.cols());
  for_each_entry(matrix, [&](index_t row, index_t col, const T&) { p(row, col) = 1; });
  return p;
}

/// Bit for bit.
template <Scalar T>
bool is_hermitian(const CsrMatrix<T>& matrix) {
  const Dense<T> d = dense(matrix);
  return d == d.adjoint() && pattern(matrix) == pattern(matrix).transpose();
}

/// Bit for bit, without conjugation.
template <Scalar T>
bool is_symmetric(const CsrMatrix<T>& matrix) {
  const Dense<T> d = dense(matrix);
  return d == d.transpose() && pattern(matrix) == pattern(matrix).transpose();
}

/// Hermitian, and Cholesky's algorithm runs through.
template <Scalar T>
bool is_positive_definite(const CsrMatrix<T>& matrix) {
  return is_hermitian(matrix) && has_cholesky(dense(matrix));
}

template <Scalar T>
double reciprocal_condition(const Dense<T>& d) {
  return smallest_over_largest(d);
}

/// Scaled by rows, then columns, to largest entries of 1: units do not count as ill-conditioning.
template <Scalar T>
Dense<T> equilibrated(Dense<T> d) {
  for (Eigen::Index i = 0; i < d.rows(); ++i) d.row(i) /= d.row(i).cwiseAbs().maxCoeff();
  for (Eigen::Index j = 0; j < d.cols(); ++j) d.col(j) /= d.col(j).cwiseAbs().maxCoeff();
  return d;
}

template <Scalar T>
bool is_regular(const CsrMatrix<T>& matrix) {
  return reciprocal_condition<T>(equilibrated<T>(dense(matrix))) > 1e-12;
}

template <Scalar T>
int missing_diagonal_entries(const CsrMatrix<T>& matrix) {
  return static_cast<int>(matrix.rows()) - pattern(matrix).diagonal().sum();
}

/// Rows first .. first + size - 1 store the same columns.
template <Scalar T>
bool rows_share_pattern(const CsrMatrix<T>& matrix, index_t first, index_t size) {
  const Eigen::MatrixXi p = pattern(matrix);
  for (index_t row = first + 1; row < first + size; ++row)
    if (p.row(row) != p.row(first)) return false;
  return true;
}

template <Scalar T>
bool same(const CsrMatrix<T>& a, const CsrMatrix<T>& b) {
  return std::ranges::equal(a.row_offsets(), b.row_offsets()) && std::ranges::equal(a.columns(), b.columns()) &&
         std::ranges::equal(a.values(), b.values());
}

/// f() throws InvalidArgument whose message holds every part.
template <class F>
void expect_refused(F&& f, const std::vector<std::string>& parts) {
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const blockjacobi::InvalidArgument& error) {
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what() << " lacks: " << part;
  }
}

}  // namespace matrix_checks
