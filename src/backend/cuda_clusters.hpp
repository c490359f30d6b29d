#pragma once

#include "backend/coarse_ops.hpp"
#include "backend/cuda_context.hpp"

#include <blockjacobi/block_partition.hpp>

#include <cstdint>
#include <functional>

namespace blockjacobi::detail {

/// Hears that all of a phase is enqueued: "memory", "strength graph", "nodes", "matching" and "contraction" in turn,
/// "moves" from the last level to the first, "numbering". None is told if it is empty.
using ClusterPhases = std::function<void(const char* phase)>;

/// The old numbers of the rows to `order`, as PartitionOps::cluster() has them, and the rows at which blocks begin in
/// the new numbering, added to the empty set `starts`; both on the device, enqueued. C is the compute scalar. Waits for
/// the size of each level. What it takes is asked for at once, but for more where contraction gets on slowly or the
/// pattern is not symmetric.
template <class C, Offset O>
void cuda_clusters(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                   const BlockPartition& nodes, index_t max_size, index_t* order, std::uint32_t* starts,
                   const ClusterPhases& phases = {});

/// As CoarseOps::aggregate() has them; of_row on the device.
template <class C, Offset O>
Aggregates cuda_aggregates(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                           const BlockPartition& blocks, index_t count);

/// As CoarseOps::neighbourhoods() has them; of_row on the device.
template <class C, Offset O>
Aggregates cuda_neighbourhoods(CudaContext& context, const Backend& backend, const CsrView<const C, O>& matrix,
                               const BlockPartition& blocks, double share);

}  // namespace blockjacobi::detail
