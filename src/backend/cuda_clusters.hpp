#pragma once

#include "backend/cuda_context.hpp"

#include <blockjacobi/block_partition.hpp>

#include <vector>

namespace blockjacobi::detail {

/// The labels of the rows, as PartitionOps::cluster() gives them; C is the compute scalar. Waits. What it takes is
/// asked for at once, but where contraction gets on slowly or the pattern is not symmetric.
template <class C, Offset O>
std::vector<index_t> cuda_clusters(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                                   const BlockPartition& nodes, index_t max_size);

}  // namespace blockjacobi::detail
