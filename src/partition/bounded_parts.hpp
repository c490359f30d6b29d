#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <span>
#include <vector>

namespace blockjacobi::detail {

/// Repairs a partition of a graph (symmetric, entries are the weights of the edges): vertex v has rows[v] <= max_size
/// rows and lies in part[v]. In the result, which numbers parts from 0, no part has more than max_size rows and each
/// hangs together. Parts are taken apart into connected pieces; a piece that is too large is cut into nearly equal
/// ones, each grown from its rim by the vertex that is tied to it most; pieces of at most half the maximum are merged
/// with the neighbour to which they are tied most, if both fit.
std::vector<index_t> bounded_parts(const CsrMatrix<double>& graph, std::span<const index_t> rows,
                                   std::span<const index_t> part, index_t max_size);

}  // namespace blockjacobi::detail
