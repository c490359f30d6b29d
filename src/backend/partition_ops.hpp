#pragma once

#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// What a backend does with sparsity patterns in its memory. Its results have a number a block, so that what follows
/// (agglomeration) runs on the host for every backend; values come to the host as well so far (coupling.hpp).
class PartitionOps {
 public:
  virtual ~PartitionOps() = default;
  /// Block pointers of the supervariables, not merged, as supervariables() of partition/supervariables.hpp; waits.
  virtual std::vector<index_t> supervariables(const CsrView<const void, std::int32_t>& pattern, index_t max_size,
                                              double tolerance) = 0;
  virtual std::vector<index_t> supervariables(const CsrView<const void, std::int64_t>& pattern, index_t max_size,
                                              double tolerance) = 0;
};

}  // namespace blockjacobi::detail
