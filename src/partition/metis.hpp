#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <span>
#include <vector>

namespace blockjacobi::detail {

/// Parts 0 .. parts - 1 of the vertices of a graph (symmetric, no diagonal, entries >= 0 are the weights of the edges)
/// from METIS_PartGraphRecursive: vertex v counts for rows[v]. Parts may be empty and exceed the mean. Throws
/// Unavailable in a build without METIS, Error if METIS fails.
std::vector<index_t> metis_parts(const CsrMatrix<double>& graph, std::span<const index_t> rows, index_t parts);

}  // namespace blockjacobi::detail
