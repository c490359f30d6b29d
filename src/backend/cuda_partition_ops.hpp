#pragma once

#include "backend/cuda_context.hpp"
#include "backend/partition_ops.hpp"

namespace blockjacobi::detail {

/// Copies the pattern to the host and partitions it there.
class CudaPartitionOps final : public PartitionOps {
 public:
  explicit CudaPartitionOps(CudaContext& context) : context_(context) {}
  std::vector<index_t> supervariables(const CsrView<const void, std::int32_t>& pattern, index_t max_size,
                                      double tolerance) override;
  std::vector<index_t> supervariables(const CsrView<const void, std::int64_t>& pattern, index_t max_size,
                                      double tolerance) override;

 private:
  CudaContext& context_;
};

}  // namespace blockjacobi::detail
