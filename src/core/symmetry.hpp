#pragma once

#include <blockjacobi/sparse_matrix.hpp>

namespace blockjacobi::detail {

/// See SparseMatrix::symmetry(). O(nnz) for a canonical matrix on the host.
template <Scalar T, Offset O>
Symmetry find_symmetry(const CsrView<T, O>& matrix, double tolerance);

}  // namespace blockjacobi::detail
