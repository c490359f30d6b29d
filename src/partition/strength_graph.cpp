#include "partition/strength_graph.hpp"

#include "core/worth_threads.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace blockjacobi::detail {

namespace {

std::vector<index_t> vertex_of_rows(std::span<const index_t> vertices) {
  std::vector<index_t> vertex(static_cast<std::size_t>(vertices.back()));
  for (std::size_t v = 0; v + 1 < vertices.size(); ++v)
    std::fill(vertex.begin() + vertices[v], vertex.begin() + vertices[v + 1], static_cast<index_t>(v));
  return vertex;
}

}  // namespace

template <Scalar T, Offset O>
std::vector<double> row_scales(const CsrView<T, O>& m, [[maybe_unused]] int threads) {
  const auto base = static_cast<index_t>(m.base);
  std::vector<double> scales(static_cast<std::size_t>(m.rows));
#pragma omp parallel for num_threads(threads) schedule(static) if (m.nnz > worth_threads)
  for (index_t i = 0; i < m.rows; ++i) {
    double diagonal = 0.0, largest = 0.0;
    for (O k = m.row_offsets[i] - base; k < m.row_offsets[i + 1] - base; ++k) {
      const auto magnitude = static_cast<double>(std::abs(m.values[k]));
      if (m.columns[k] - base == i) diagonal = magnitude;
      largest = std::max(largest, magnitude);
    }
    scales[static_cast<std::size_t>(i)] = row_scale(diagonal, largest);
  }
  return scales;
}

CsrMatrix<double> sum_parallel_edges(EdgeLists lists, [[maybe_unused]] int threads) {
  const auto size = static_cast<index_t>(lists.bounds.size() - 1);
  Edge* const edges = lists.edges.data();
  std::vector<offset_t> offsets(lists.bounds.size(), 0);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 256) if (lists.bounds.back() > worth_threads)
  for (index_t v = 0; v < size; ++v) {
    Edge* const begin = edges + lists.bounds[static_cast<std::size_t>(v)];
    Edge* const end = edges + lists.bounds[static_cast<std::size_t>(v) + 1];
    std::sort(begin, end, [](const Edge& a, const Edge& b) { return a.to < b.to; });
    Edge* last = begin;
    for (const Edge* e = begin; e != end; ++e) {
      if (e == begin) continue;
      if (e->to == last->to)
        last->weight += e->weight;
      else
        *++last = *e;
    }
    offsets[static_cast<std::size_t>(v) + 1] = begin == end ? 0 : last + 1 - begin;
  }
  for (std::size_t v = 1; v < offsets.size(); ++v) offsets[v] += offsets[v - 1];
  std::vector<index_t> neighbours(static_cast<std::size_t>(offsets.back()));
  std::vector<double> weights(neighbours.size());
#pragma omp parallel for num_threads(threads) schedule(static) if (lists.bounds.back() > worth_threads)
  for (index_t v = 0; v < size; ++v) {
    const Edge* e = edges + lists.bounds[static_cast<std::size_t>(v)];
    for (auto k = static_cast<std::size_t>(offsets[static_cast<std::size_t>(v)]);
         k < static_cast<std::size_t>(offsets[static_cast<std::size_t>(v) + 1]); ++k, ++e) {
      neighbours[k] = e->to;
      weights[k] = e->weight;
    }
  }
  return {size, size, std::move(offsets), std::move(neighbours), std::move(weights)};
}

CsrMatrix<double> strength_graph(const CsrMatrix<double>& magnitudes, std::span<const index_t> vertices, int threads) {
  const auto m = magnitudes.view();
  const std::vector<index_t> vertex = vertex_of_rows(vertices);
  std::vector<double> roots = row_scales(m, threads);
  for (double& s : roots) s = std::sqrt(s);

  EdgeLists lists;
  lists.bounds.assign(vertices.size(), 0);
  for (index_t i = 0; i < m.rows; ++i)
    for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
      const auto I = static_cast<std::size_t>(vertex[static_cast<std::size_t>(i)]);
      const auto J = static_cast<std::size_t>(vertex[static_cast<std::size_t>(m.columns[k])]);
      if (I == J || !(m.values[k] > 0.0)) continue;
      ++lists.bounds[I + 1];
      ++lists.bounds[J + 1];
    }
  for (std::size_t v = 1; v < lists.bounds.size(); ++v) lists.bounds[v] += lists.bounds[v - 1];
  lists.edges.resize(static_cast<std::size_t>(lists.bounds.back()));
  std::vector<offset_t> next(lists.bounds.begin(), lists.bounds.end() - 1);
  for (index_t i = 0; i < m.rows; ++i)
    for (offset_t k = m.row_offsets[i]; k < m.row_offsets[i + 1]; ++k) {
      const auto j = static_cast<std::size_t>(m.columns[k]);
      const index_t I = vertex[static_cast<std::size_t>(i)], J = vertex[j];
      if (I == J || !(m.values[k] > 0.0)) continue;
      const double w = rounded_strength(m.values[k], roots[static_cast<std::size_t>(i)] * roots[j]);
      lists.edges[static_cast<std::size_t>(next[static_cast<std::size_t>(I)]++)] = {J, w};
      lists.edges[static_cast<std::size_t>(next[static_cast<std::size_t>(J)]++)] = {I, w};
    }
  return sum_parallel_edges(std::move(lists), threads);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                               \
  template std::vector<double> row_scales(const CsrView<T, std::int32_t>&, int); \
  template std::vector<double> row_scales(const CsrView<T, std::int64_t>&, int)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
