#pragma once

#include "backend/cuda_context.hpp"

#include <blockjacobi/block_partition.hpp>

#include <cstdint>
#include <vector>

namespace blockjacobi::detail {

/// The old numbers of the rows, as PartitionOps::cluster() gives them, and the rows at which blocks begin in the new
/// numbering, added to the empty set `starts`, bits on the device. C is the compute scalar. Waits. What it takes is
/// asked for at once, but for more where contraction gets on slowly or the pattern is not symmetric.
template <class C, Offset O>
std::vector<index_t> cuda_clusters(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                                   const BlockPartition& nodes, index_t max_size, std::uint32_t* starts);

}  // namespace blockjacobi::detail
