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

double strength(double value, double scale) {
  if (!(value > 0.0)) return 0.0;
  return value < scale ? value / scale : 1.0;
}

template <Scalar T>
std::vector<double> row_scales(const CsrMatrix<T>& matrix, [[maybe_unused]] int threads) {
  const auto m = matrix.view();
  std::vector<double> scales(static_cast<std::size_t>(m.rows));
#pragma omp parallel for num_threads(threads) schedule(static) if (m.nnz > 16384)
  for (index_t i = 0; i < m.rows; ++i) {
    double diagonal = 0.0, largest = 0.0;
    for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
      const auto magnitude = static_cast<double>(std::abs(m.values[k]));
      if (m.columns[k] == i) diagonal = magnitude;
      largest = std::max(largest, magnitude);
    }
    scales[static_cast<std::size_t>(i)] = diagonal > 0.0 ? diagonal : largest;
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
      const double w = strength(m.values()[k], std::sqrt(scales[i]) * std::sqrt(scales[j]));
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

#define BLOCKJACOBI_INSTANTIATE(T) template std::vector<double> row_scales(const CsrMatrix<T>&, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
