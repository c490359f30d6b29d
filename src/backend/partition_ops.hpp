#pragma once

#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// What makes rows neighbours in a block; see BlockPartition::detect.
struct SupervariableRule {
  index_t max_size = 32;
  double tolerance = 0.0;
  bool merge_greedily = true;
};

/// What a backend does with sparsity patterns in its memory. Its results have a number a block and go to the host;
/// values come to the host as well so far (coupling.hpp).
class PartitionOps {
 public:
  virtual ~PartitionOps() = default;
  /// Block pointers of the supervariables, as supervariables() of partition/supervariables.hpp and merge_greedily() of
  /// partition/agglomerate.hpp give them; waits.
  virtual std::vector<index_t> block_offsets(const CsrView<const void, std::int32_t>& pattern,
                                             const SupervariableRule& rule) = 0;
  virtual std::vector<index_t> block_offsets(const CsrView<const void, std::int64_t>& pattern,
                                             const SupervariableRule& rule) = 0;
};

}  // namespace blockjacobi::detail
