#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <span>

namespace blockjacobi::detail {

/// The graph of BlockPartition::metis as a symmetric matrix without a diagonal: vertex I is the rows vertices[I] ..
/// vertices[I + 1] - 1, and the entry (I, J) the sum of w_ij over the rows i of I and j of J. `magnitudes` holds
/// |a_ij|. Entries with w_ij = 0 make no edge. Throws InvalidArgument for more than 2^31 - 1 entries.
CsrMatrix<double> strength_graph(const CsrMatrix<double>& magnitudes, std::span<const index_t> vertices);

/// min(1, value / sqrt(scale_i scale_j)); 1 where a scale is zero, 0 for NaN.
double strength(double value, double scale_i, double scale_j);

/// s_i: |a_ii|, or the largest magnitude in row i if that is zero.
std::vector<double> row_scales(const CsrMatrix<double>& magnitudes);

}  // namespace blockjacobi::detail
