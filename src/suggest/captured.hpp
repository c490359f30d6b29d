#pragma once

#include "backend/partition_ops.hpp"

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/sparse_matrix.hpp>

#include <vector>

namespace blockjacobi::detail {

/// Parts of the weight of all couplings.
struct CouplingShares {
  double all = 0.0;        ///< that weight
  double strongest = 1.0;  ///< of the strongest of each row
  double positive = 0.0;   ///< of the positive real parts, which a diffusion hardly has
};

/// `captured` of BlockCandidate for every partition, in one pass over a canonical matrix on the host, and what else
/// that shows. The same bits for any number of threads.
template <Scalar T, Offset O>
std::vector<double> captured_weights(const CsrView<T, O>& matrix, const std::vector<const BlockPartition*>& partitions,
                                     int threads, CouplingShares* shares = nullptr);

/// The same for blocks of the renumbered rows, of the matrix as it is: it is not renumbered for that.
template <Scalar T, Offset O>
double captured_weight(const CsrView<T, O>& matrix, const PermutedPartition& blocks, int threads);

/// Of a square matrix where it is, on a device but for rounding. Waits.
template <Scalar T>
CouplingTotals coupling_totals(const SparseMatrix<T>& matrix);

}  // namespace blockjacobi::detail
