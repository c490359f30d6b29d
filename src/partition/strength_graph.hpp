#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <span>
#include <vector>

namespace blockjacobi::detail {

/// The graph of BlockPartition::metis as a symmetric matrix without a diagonal: vertex I is the rows vertices[I] ..
/// vertices[I + 1] - 1, and the entry (I, J) the sum of w_ij over the rows i of I and j of J. `magnitudes` holds
/// |a_ij|. Entries with w_ij = 0 make no edge. Throws InvalidArgument for more than 2^31 - 1 entries.
CsrMatrix<double> strength_graph(const CsrMatrix<double>& magnitudes, std::span<const index_t> vertices);

/// min(1, value / scale), scale = sqrt(s_i) sqrt(s_j); 1 where it is zero, 0 for NaN.
double strength(double value, double scale);

/// s_i: |a_ii|, or the largest magnitude in row i if that is zero.
template <Scalar T>
std::vector<double> row_scales(const CsrMatrix<T>& matrix, int threads = 1);

}  // namespace blockjacobi::detail
