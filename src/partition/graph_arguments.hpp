#pragma once

#include "core/message.hpp"

#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/error.hpp>
#include <blockjacobi/views.hpp>

namespace blockjacobi::detail {

/// What the partitions of the strength graph ask of a matrix, wherever it lies; `where` names the function.
template <Scalar T, Offset O>
void require_graph_shape(const char* where, const CsrView<T, O>& matrix, index_t max_size) {
  if (max_size < 1 || max_size > max_block_size)
    throw InvalidArgument(message("{}: block size is {}, must be in 1..{}", where, max_size, max_block_size));
  if (matrix.rows != matrix.cols)
    throw InvalidArgument(message("{}: the matrix is {} x {}, must be square", where, matrix.rows, matrix.cols));
}

/// The same of a matrix that has to be on the host and may be wrong.
template <Scalar T, Offset O>
void require_graph_arguments(const char* where, const CsrView<T, O>& matrix, index_t max_size) {
  require_graph_shape(where, matrix, max_size);
  if (matrix.space != MemorySpace::host)
    throw InvalidArgument(message("{}: the matrix lies on the device, must be on the host", where));
  validate(matrix);
  if (matrix.nnz > 0 && matrix.values == nullptr)
    throw InvalidArgument(message("{}: the matrix has {} entries but no values", where, matrix.nnz));
}

}  // namespace blockjacobi::detail
