#pragma once

#include "core/shared/cluster_rules.hpp"

#include <blockjacobi/csr_matrix.hpp>

#include <span>
#include <vector>

namespace blockjacobi::detail {

/// An edge to a vertex, and its weight.
struct Edge {
  index_t to;
  double weight;
};

/// Edges of vertices: those of v are edges[bounds[v]] .. edges[bounds[v + 1] - 1], in any order, some perhaps parallel.
struct EdgeLists {
  std::vector<offset_t> bounds;
  std::vector<Edge> edges;
};

/// Sorts the edges of each vertex and adds up parallel ones.
CsrMatrix<double> sum_parallel_edges(EdgeLists lists, int threads);

/// The graph of BlockPartition::metis and clusters as a symmetric matrix without a diagonal: vertex I is the rows
/// vertices[I] .. vertices[I + 1] - 1, and the entry (I, J) the sum of w_ij over the rows i of I and j of J.
/// `magnitudes` holds |a_ij|. Entries with w_ij = 0 make no edge. Each summand of w_ij is rounded such that sums
/// do not depend on their order: see rounded_strength().
CsrMatrix<double> strength_graph(const CsrMatrix<double>& magnitudes, std::span<const index_t> vertices, int threads);

/// s_i: |a_ii|, or the largest magnitude in row i if that is zero, of a canonical matrix on the host.
template <Scalar T, Offset O>
std::vector<double> row_scales(const CsrView<T, O>& matrix, int threads = 1);

}  // namespace blockjacobi::detail
