#pragma once

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/csr_matrix.hpp>

#include <vector>

namespace blockjacobi::detail {

/// `captured` of BlockCandidate for every partition, in one pass over a canonical matrix on the host. The same bits for
/// any number of threads. `strongest` becomes the part of the weight that the strongest coupling of each row holds.
template <Scalar T, Offset O>
std::vector<double> captured_weights(const CsrView<T, O>& matrix, const std::vector<const BlockPartition*>& partitions,
                                     int threads, double* strongest = nullptr);

/// The same for blocks of the renumbered rows, of the matrix as it is: it is not renumbered for that.
template <Scalar T, Offset O>
double captured_weight(const CsrView<T, O>& matrix, const PermutedPartition& blocks, int threads);

}  // namespace blockjacobi::detail
