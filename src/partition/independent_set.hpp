#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <vector>

namespace blockjacobi::detail {

/// Aggregates of the vertices of a graph as clusters() takes it, around a maximal set of vertices of which no two are
/// joined by one or two strong edges (Bell, Dalton, Olson, Exposing fine-grained parallelism in algebraic multigrid
/// methods, 2012). Returns for each vertex the one of the set whose aggregate it belongs to: that which a strong edge
/// leads to, else that of the neighbour at its strongest edge; itself, where it has no strong edges.
///
/// An edge is strong if it has at least `share` of the largest weight at either of its ends. Rounds decide from the
/// state before them, so that the result does not depend on the number of threads.
std::vector<index_t> independent_set_roots(const CsrMatrix<double>& graph, double share, int threads);

}  // namespace blockjacobi::detail
