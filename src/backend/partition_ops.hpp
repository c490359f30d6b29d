#pragma once

#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// What a backend does with sparsity patterns in its memory.
class PartitionOps {
 public:
  virtual ~PartitionOps() = default;
  /// Block pointers of BlockPartition::detect; waits.
  virtual std::vector<index_t> supervariables(const CsrView<const void, std::int32_t>& pattern, index_t max_size) = 0;
  virtual std::vector<index_t> supervariables(const CsrView<const void, std::int64_t>& pattern, index_t max_size) = 0;
};

}  // namespace blockjacobi::detail
