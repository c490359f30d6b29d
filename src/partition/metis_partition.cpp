#include "core/message.hpp"
#include "partition/bounded_parts.hpp"
#include "partition/magnitudes.hpp"
#include "partition/metis.hpp"
#include "partition/strength_graph.hpp"
#include "partition/supervariables.hpp"

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/error.hpp>

#include <algorithm>

namespace blockjacobi {

namespace {

template <Scalar T, Offset O>
void require_arguments(const CsrView<T, O>& matrix, index_t max_size) {
  if (max_size < 1 || max_size > max_block_size)
    throw InvalidArgument(
        detail::message("BlockPartition::metis: block size is {}, must be in 1..{}", max_size, max_block_size));
  if (matrix.space != MemorySpace::host)
    throw InvalidArgument("BlockPartition::metis: the matrix lies on the device, must be on the host");
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(
        detail::message("BlockPartition::metis: the matrix is {} x {}, must be square", matrix.rows, matrix.cols));
  validate(matrix);
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(
        detail::message("BlockPartition::metis: the matrix has {} entries but no values", matrix.nnz));
  if (!BlockPartition::metis_available()) (void)detail::metis_parts({}, {}, 1);  // says so, whatever the matrix is
}

/// Rows per part aimed at: METIS exceeds its mean by a few per cent, and what exceeds the maximum has to be cut.
index_t parts_of(index_t rows, index_t max_size) {
  const index_t mean = std::max(index_t{1}, max_size - max_size / 10);
  return std::max(index_t{1}, rows / mean + (rows % mean > 0 ? 1 : 0));
}

}  // namespace

template <Scalar T, Offset O>
PermutedPartition BlockPartition::metis(const CsrView<T, O>& matrix, index_t max_size) {
  require_arguments(matrix, max_size);
  const CsrMatrix<double> values = detail::magnitudes(matrix);
  const auto vertices = detail::supervariables(
      CsrView<const void>{values.rows(), values.cols(), values.nnz(), values.row_offsets().data(),
                          values.columns().data(), nullptr, IndexBase::zero, MemorySpace::host},
      std::max(index_t{1}, max_size / 4), 0.0);
  std::vector<index_t> rows(vertices.size() - 1);
  for (std::size_t v = 0; v < rows.size(); ++v) rows[v] = vertices[v + 1] - vertices[v];

  const CsrMatrix<double> graph = detail::strength_graph(values, vertices);
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
