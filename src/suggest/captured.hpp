#pragma once

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/csr_matrix.hpp>

#include <vector>

namespace blockjacobi::detail {

/// `captured` of BlockCandidate for every partition, in one pass over the matrix. The same bits for any number of
/// threads.
template <Scalar T>
std::vector<double> captured_weights(const CsrMatrix<T>& matrix, const std::vector<const BlockPartition*>& partitions,
                                     int threads);

}  // namespace blockjacobi::detail
