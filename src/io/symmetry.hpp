#pragma once

#include <blockjacobi/matrix_market.hpp>

#include <complex>

namespace blockjacobi::detail {

/// a(j, i), given a(i, j) of a matrix with the symmetry.
template <Scalar T>
T mirrored(MatrixMarketSymmetry symmetry, const T& value) {
  if (symmetry == MatrixMarketSymmetry::skew_symmetric) return -value;
  if constexpr (is_complex<T>)
    if (symmetry == MatrixMarketSymmetry::hermitian) return std::conj(value);
  return value;
}

}  // namespace blockjacobi::detail
