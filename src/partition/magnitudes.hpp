#pragma once

#include <blockjacobi/csr_matrix.hpp>

namespace blockjacobi::detail {

/// |a_ij| of a matrix on the host that passed validate(): base 0, rows sorted, duplicates summed before. What looks at
/// values to partition works on this, whatever the scalar and the offsets are.
template <Scalar T, Offset O>
CsrMatrix<double> magnitudes(const CsrView<T, O>& matrix);

}  // namespace blockjacobi::detail
