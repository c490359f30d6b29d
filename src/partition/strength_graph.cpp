#include "partition/strength_graph.hpp"

#include "core/message.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace blockjacobi::detail {

namespace {

std::vector<index_t> vertex_of_rows(std::span<const index_t> vertices) {
  std::vector<index_t> vertex(static_cast<std::size_t>(vertices.back()));
  for (std::size_t v = 0; v + 1 < vertices.size(); ++v)
    std::fill(vertex.begin() + vertices[v], vertex.begin() + vertices[v + 1], static_cast<index_t>(v));
  return vertex;
}

}  // namespace

double strength(double value, double scale_i, double scale_j) {
  if (!(value > 0.0)) return 0.0;
  const double scale = std::sqrt(scale_i) * std::sqrt(scale_j);
  return value < scale ? value / scale : 1.0;
}

std::vector<double> row_scales(const CsrMatrix<double>& m) {
  std::vector<double> scales(static_cast<std::size_t>(m.rows()), 0.0);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto begin = static_cast<std::size_t>(m.row_offsets()[i]);
    const auto end = static_cast<std::size_t>(m.row_offsets()[i + 1]);
    double diagonal = 0.0, largest = 0.0;
    for (std::size_t k = begin; k < end; ++k) {
      if (static_cast<std::size_t>(m.columns()[k]) == i) diagonal = m.values()[k];
      largest = std::max(largest, m.values()[k]);
    }
    scales[i] = diagonal > 0.0 ? diagonal : largest;
  }
  return scales;
}

CsrMatrix<double> strength_graph(const CsrMatrix<double>& m, std::span<const index_t> vertices) {
  const std::vector<index_t> vertex = vertex_of_rows(vertices);
  const std::vector<double> scales = row_scales(m);
  std::vector<Triplet<double>> edges;
  for (std::size_t i = 0; i < vertex.size(); ++i)
    for (auto k = static_cast<std::size_t>(m.row_offsets()[i]); k < static_cast<std::size_t>(m.row_offsets()[i + 1]);
         ++k) {
      const auto j = static_cast<std::size_t>(m.columns()[k]);
      const double w = strength(m.values()[k], scales[i], scales[j]);
      if (vertex[i] == vertex[j] || w == 0.0) continue;
      edges.push_back({vertex[i], vertex[j], w});
      edges.push_back({vertex[j], vertex[i], w});  // in the same order, so that both sums have the same bits
    }
  const auto size = static_cast<index_t>(vertices.size() - 1);
  auto graph = CsrMatrix<double>::from_triplets(size, size, edges);
  if (graph.nnz() > std::numeric_limits<index_t>::max())
    throw InvalidArgument(detail::message("BlockPartition::metis: {} couplings, at most {} can be", graph.nnz(),
                                          std::numeric_limits<index_t>::max()));
  return graph;
}

}  // namespace blockjacobi::detail
