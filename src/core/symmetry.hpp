#pragma once

#include <blockjacobi/sparse_matrix.hpp>

#include <limits>

namespace blockjacobi::detail {

/// See SparseMatrix::symmetry(). O(nnz) for a canonical matrix on the host, and searches in rows for the diagonal where
/// opposite entries differ by more than the tolerance of the larger.
template <Scalar T, Offset O>
Symmetry find_symmetry(const CsrView<T, O>& matrix, double tolerance);

/// What assembly of a matrix rounds, as a SparseMatrixOptions::symmetry_tolerance.
template <Scalar T>
constexpr double assembly_rounding = 1000.0 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());

/// Whether A = A^H as SparseMatrix::is_hermitian() says, or else, where nothing was stated, within assembly_rounding:
/// what a Multigrid takes. Waits.
template <Scalar T>
bool is_hermitian_but_for_rounding(const SparseMatrix<T>& matrix);

}  // namespace blockjacobi::detail
