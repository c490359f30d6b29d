#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <vector>

namespace blockjacobi::detail {

/// Clusters of at most max_size rows of a graph (symmetric, no diagonal, the weights of whose edges add up exactly in
/// any order, see strength_graph.hpp); vertex v has rows[v] <= max_size rows. Returns the cluster of each vertex,
/// numbered as their first vertices follow each other.
///
/// Clusters grow by passes of handshake matching: every vertex asks for the free neighbour with the greatest
///     w_ij^3 / (rows_i rows_j)
/// that it fits together with, and two that ask for each other become one vertex of the next graph. The cube weighs
/// strength against size such that clusters stay round. Then the graphs are gone through the other way: in rounds,
/// vertices move to the neighbouring cluster that they are tied to more than to their own, if it has room. All is
/// decided from the state before a round, so that the result does not depend on the number of threads.
std::vector<index_t> clusters(CsrMatrix<double> graph, std::vector<index_t> rows, index_t max_size, int threads);

}  // namespace blockjacobi::detail
