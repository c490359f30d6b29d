#include "core/message.hpp"
#include "partition/clusters.hpp"
#include "partition/graph_arguments.hpp"
#include "partition/magnitudes.hpp"
#include "partition/strength_graph.hpp"
#include "partition/supervariables.hpp"

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/error.hpp>

#include <omp.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace blockjacobi {

namespace {

constexpr const char* where = "BlockPartition::clusters";
/// Larger supervariables are cut where no nodes are stated: whole they leave room in the clusters.
constexpr index_t largest_node = 8;

/// `nodes` are offsets of rows.
PermutedPartition cluster_nodes(const CsrMatrix<double>& magnitudes, std::span<const index_t> nodes, index_t max_size) {
  const int threads = omp_get_max_threads();
  std::vector<index_t> rows(nodes.size() - 1);
  for (std::size_t v = 0; v < rows.size(); ++v) rows[v] = nodes[v + 1] - nodes[v];
  const std::vector<index_t> cluster =
      detail::clusters(detail::strength_graph(magnitudes, nodes, threads), rows, max_size, threads);
  std::vector<index_t> labels;
  labels.reserve(static_cast<std::size_t>(nodes.back()));
  for (std::size_t v = 0; v < rows.size(); ++v)
    labels.insert(labels.end(), static_cast<std::size_t>(rows[v]), cluster[v]);
  return BlockPartition::from_labels(labels);
}

}  // namespace

template <Scalar T, Offset O>
PermutedPartition BlockPartition::clusters(const CsrView<T, O>& matrix, index_t max_size) {
  detail::require_graph_arguments(where, matrix, max_size);
  const CsrMatrix<double> magnitudes = detail::magnitudes(matrix);
  const CsrView<const void> pattern{
      magnitudes.rows(),           magnitudes.cols(), magnitudes.nnz(), magnitudes.row_offsets().data(),
      magnitudes.columns().data(), nullptr,           IndexBase::zero,  MemorySpace::host};
  return cluster_nodes(magnitudes, detail::supervariables(pattern, std::min(max_size, largest_node), 0.0), max_size);
}

template <Scalar T, Offset O>
PermutedPartition BlockPartition::clusters(const CsrView<T, O>& matrix, const BlockPartition& nodes, index_t max_size) {
  detail::require_graph_arguments(where, matrix, max_size);
  if (nodes.rows() != matrix.rows)
    throw InvalidArgument(
        detail::message("{}: the matrix has {} rows, the nodes {}", where, matrix.rows, nodes.rows()));
  for (index_t v = 0; v < nodes.blocks(); ++v)
    if (nodes.block_size(v) > max_size)
      throw InvalidArgument(
          detail::message("{}: node {} has {} rows, a block at most {}", where, v, nodes.block_size(v), max_size));
  return cluster_nodes(detail::magnitudes(matrix), nodes.offsets(), max_size);
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                             \
  template PermutedPartition BlockPartition::clusters(const CsrView<T, O>&, index_t); \
  template PermutedPartition BlockPartition::clusters(const CsrView<T, O>&, const BlockPartition&, index_t)
#define BLOCKJACOBI_INSTANTIATE(T)              \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi
