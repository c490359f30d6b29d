#include "backend/backend_impl.hpp"
#include "core/csr_pattern.hpp"
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
#include <optional>
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

void require_nodes(index_t rows, const BlockPartition& nodes, index_t max_size) {
  if (nodes.rows() != rows)
    throw InvalidArgument(detail::message("{}: the matrix has {} rows, the nodes {}", where, rows, nodes.rows()));
  if (nodes.largest_block() <= max_size) return;
  for (index_t v = 0; v < nodes.blocks(); ++v)
    if (nodes.block_size(v) > max_size)
      throw InvalidArgument(
          detail::message("{}: node {} has {} rows, a block at most {}", where, v, nodes.block_size(v), max_size));
}

/// By the backend in whose memory the matrix lies, if it does that.
template <Scalar T, Offset O>
std::optional<PermutedPartition> cluster_in_backend(const SparseMatrix<T>& matrix, const CsrView<T, O>& view,
                                                    index_t max_size) {
  const Backend& backend = matrix.backend();
  detail::require_graph_shape(where, view, max_size);
  detail::PartitionOps& ops = backend.impl().partition_ops();
  const BlockPartition nodes = matrix.block_size() ? BlockPartition::uniform(matrix)
                                                   : ops.detect(backend, detail::pattern_of(view),
                                                                {std::min(max_size, largest_node), 0.0, false});
  require_nodes(view.rows, nodes, max_size);
  return ops.cluster(backend, detail::untyped(view), scalar_type<T>, nodes, max_size);
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
  require_nodes(matrix.rows, nodes, max_size);
  return cluster_nodes(detail::magnitudes(matrix), nodes.offsets(), max_size);
}

template <Scalar T>
PermutedPartition BlockPartition::clusters(const SparseMatrix<T>& matrix, index_t max_size) {
  const auto on_host = [&](const auto& host) {
    return matrix.block_size() ? clusters(host, uniform(matrix), max_size) : clusters(host, max_size);
  };
  if (matrix.backend().memory_space() == MemorySpace::host) return std::visit(on_host, matrix.view());
  auto found = std::visit([&](const auto& view) { return cluster_in_backend(matrix, view, max_size); }, matrix.view());
  return found ? std::move(*found) : on_host(matrix.to_host());
}

#define BLOCKJACOBI_INSTANTIATE_FOR(T, O)                                             \
  template PermutedPartition BlockPartition::clusters(const CsrView<T, O>&, index_t); \
  template PermutedPartition BlockPartition::clusters(const CsrView<T, O>&, const BlockPartition&, index_t)
#define BLOCKJACOBI_INSTANTIATE(T)                                                      \
  template PermutedPartition BlockPartition::clusters(const SparseMatrix<T>&, index_t); \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int32_t);                                         \
  BLOCKJACOBI_INSTANTIATE_FOR(T, std::int64_t)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE
#undef BLOCKJACOBI_INSTANTIATE_FOR

}  // namespace blockjacobi
