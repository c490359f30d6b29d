#pragma once

#include <blockjacobi/matrix_market.hpp>

namespace generate {

/// The symmetry that the values have exactly; symmetric before Hermitian.
template <blockjacobi::Scalar T>
blockjacobi::MatrixMarketSymmetry symmetry_of(const blockjacobi::CsrMatrix<T>& matrix);

/// Whether (j, i) is stored for every stored (i, j).
template <blockjacobi::Scalar T>
bool has_symmetric_pattern(const blockjacobi::CsrMatrix<T>& matrix);

}  // namespace generate
