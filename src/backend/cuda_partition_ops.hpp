#pragma once

#include "backend/cuda_context.hpp"
#include "backend/partition_ops.hpp"

namespace blockjacobi::detail {

/// Detection by the kernels of kernels/global/run_starts.cu and block_starts.cu; block starts come to the host as bits.
class CudaPartitionOps final : public PartitionOps {
 public:
  explicit CudaPartitionOps(CudaContext& context) : context_(context) {}
  std::vector<index_t> block_offsets(const CsrView<const void, std::int32_t>& pattern,
                                     const SupervariableRule& rule) override;
  std::vector<index_t> block_offsets(const CsrView<const void, std::int64_t>& pattern,
                                     const SupervariableRule& rule) override;

 private:
  template <Offset O>
  std::vector<index_t> detect(const CsrView<const void, O>& pattern, const SupervariableRule& rule);

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
