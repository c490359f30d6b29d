#include "core/message.hpp"
#include "partition/bounded_parts.hpp"
#include "partition/graph_arguments.hpp"
#include "partition/magnitudes.hpp"
#include "partition/metis.hpp"
#include "partition/strength_graph.hpp"
#include "partition/supervariables.hpp"

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/error.hpp>

#include <omp.h>

#include <algorithm>
#include <limits>

namespace blockjacobi {

namespace {

/// Rows per part aimed at: METIS exceeds its mean by a few per cent, and what exceeds the maximum has to be cut.
index_t parts_of(index_t rows, index_t max_size) {
  const index_t mean = std::max(index_t{1}, max_size - max_size / 10);
  return std::max(index_t{1}, rows / mean + (rows % mean > 0 ? 1 : 0));
}

}  // namespace

template <Scalar T, Offset O>
PermutedPartition BlockPartition::metis(const CsrView<T, O>& matrix, index_t max_size) {
  detail::require_graph_arguments("BlockPartition::metis", matrix, max_size);
  if (!metis_available()) (void)detail::metis_parts({}, {}, 1);  // says so, whatever the matrix is
  const CsrMatrix<double> values = detail::magnitudes(matrix);
  const auto vertices = detail::supervariables(
      CsrView<const void>{values.rows(), values.cols(), values.nnz(), values.row_offsets().data(),
                          values.columns().data(), nullptr, IndexBase::zero, MemorySpace::host},
      std::max(index_t{1}, max_size / 4), 0.0);
  std::vector<index_t> rows(vertices.size() - 1);
  for (std::size_t v = 0; v < rows.size(); ++v) rows[v] = vertices[v + 1] - vertices[v];

  const CsrMatrix<double> graph = detail::strength_graph(values, vertices, omp_get_max_threads());
  if (graph.nnz() > std::numeric_limits<index_t>::max())
    throw InvalidArgument(detail::message("BlockPartition::metis: {} couplings, at most {} can be", graph.nnz(),
                                          std::numeric_limits<index_t>::max()));
  const auto parts =
      detail::metis_parts(graph, rows, std::min(parts_of(matrix.rows, max_size), std::max(1, graph.rows())));
  const auto bounded = detail::bounded_parts(graph, rows, parts, max_size);
  std::vector<index_t> labels;
  labels.reserve(static_cast<std::size_t>(matrix.rows));
  for (std::size_t v = 0; v < rows.size(); ++v)
    labels.insert(labels.end(), static_cast<std::size_t>(rows[v]), bounded[v]);
  return from_labels(labels);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                            \
  template PermutedPartition BlockPartition::metis(const CsrView<T, std::int32_t>&, index_t); \
  template PermutedPartition BlockPartition::metis(const CsrView<T, std::int64_t>&, index_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
