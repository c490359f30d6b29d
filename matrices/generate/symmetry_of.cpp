#include "matrices/generate/symmetry_of.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>

namespace generate {

using blockjacobi::CsrMatrix;
using blockjacobi::index_t;
using blockjacobi::MatrixMarketSymmetry;
using blockjacobi::Scalar;

namespace {

float conjugate(float a) { return a; }
double conjugate(double a) { return a; }
template <class Real>
std::complex<Real> conjugate(const std::complex<Real>& a) {
  return std::conj(a);
}

/// nullptr if (row, col) is not stored.
template <Scalar T>
const T* find(const CsrMatrix<T>& matrix, index_t row, index_t col) {
  const index_t* columns = matrix.columns().data();
  const auto r = static_cast<std::size_t>(row);
  const index_t* last = columns + matrix.row_offsets()[r + 1];
  const index_t* found = std::lower_bound(columns + matrix.row_offsets()[r], last, col);
  return found != last && *found == col ? matrix.values().data() + (found - columns) : nullptr;
}

/// matches(a_ij, a_ji) for every stored a_ij; false if a partner is missing.
template <Scalar T, class Matches>
bool all_pairs(const CsrMatrix<T>& matrix, Matches&& matches) {
  for (index_t row = 0; row < matrix.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const auto end = static_cast<std::size_t>(matrix.row_offsets()[r + 1]);
    for (auto k = static_cast<std::size_t>(matrix.row_offsets()[r]); k < end; ++k) {
      const T* partner = find(matrix, matrix.columns()[k], row);
      if (partner == nullptr || !matches(matrix.values()[k], *partner)) return false;
    }
  }
  return true;
}

}  // namespace

template <Scalar T>
bool has_symmetric_pattern(const CsrMatrix<T>& matrix) {
  return all_pairs(matrix, [](const T&, const T&) { return true; });
}

template <Scalar T>
MatrixMarketSymmetry symmetry_of(const CsrMatrix<T>& matrix) {
  if (all_pairs(matrix, [](const T& a, const T& b) { return a == b; })) return MatrixMarketSymmetry::symmetric;
  if (all_pairs(matrix, [](const T& a, const T& b) { return a == conjugate(b); }))
    return MatrixMarketSymmetry::hermitian;
  return MatrixMarketSymmetry::general;
}

template MatrixMarketSymmetry symmetry_of(const CsrMatrix<float>&);
template MatrixMarketSymmetry symmetry_of(const CsrMatrix<double>&);
template MatrixMarketSymmetry symmetry_of(const CsrMatrix<std::complex<float>>&);
template MatrixMarketSymmetry symmetry_of(const CsrMatrix<std::complex<double>>&);
template bool has_symmetric_pattern(const CsrMatrix<float>&);
template bool has_symmetric_pattern(const CsrMatrix<double>&);
template bool has_symmetric_pattern(const CsrMatrix<std::complex<float>>&);
template bool has_symmetric_pattern(const CsrMatrix<std::complex<double>>&);

}  // namespace generate
