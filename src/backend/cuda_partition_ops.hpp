#pragma once

#include "backend/cuda_context.hpp"
#include "backend/partition_ops.hpp"
#include "kernels/partition/launch.hpp"

namespace blockjacobi::detail {

/// Detection and position maps by kernels/partition; block starts come to the host as bits.
class CudaPartitionOps final : public PartitionOps {
 public:
  explicit CudaPartitionOps(CudaContext& context) : context_(context) {}
  std::vector<index_t> block_offsets(const CsrView<const void, std::int32_t>& pattern,
                                     const SupervariableRule& rule) override;
  std::vector<index_t> block_offsets(const CsrView<const void, std::int64_t>& pattern,
                                     const SupervariableRule& rule) override;
  std::optional<std::vector<index_t>> coupled_offsets(const CsrView<const void, std::int32_t>& matrix,
                                                      ScalarType scalar, const CouplingRule& rule) override {
    return detect_coupled(matrix, scalar, rule);
  }
  std::optional<std::vector<index_t>> coupled_offsets(const CsrView<const void, std::int64_t>& matrix,
                                                      ScalarType scalar, const CouplingRule& rule) override {
    return detect_coupled(matrix, scalar, rule);
  }

  index_t largest_mapped() const override { return kernels::largest_mapped_order; }
  PatternCheck inspect(const CsrView<const void, std::int32_t>& pattern) override { return inspect_pattern(pattern); }
  PatternCheck inspect(const CsrView<const void, std::int64_t>& pattern) override { return inspect_pattern(pattern); }
  MapExtent measure_map(const CsrView<const void, std::int32_t>& pattern, const BlockTable& blocks,
                        MapSlot* slots) override {
    return measure(pattern, blocks, slots);
  }
  MapExtent measure_map(const CsrView<const void, std::int64_t>& pattern, const BlockTable& blocks,
                        MapSlot* slots) override {
    return measure(pattern, blocks, slots);
  }
  void fill_map(const CsrView<const void, std::int32_t>& pattern, const BlockTable& blocks, const MapSlot* slots,
                std::uint32_t* narrow, std::uint64_t* wide) override {
    fill(pattern, blocks, slots, narrow, wide);
  }
  void fill_map(const CsrView<const void, std::int64_t>& pattern, const BlockTable& blocks, const MapSlot* slots,
                std::uint32_t* narrow, std::uint64_t* wide) override {
    fill(pattern, blocks, slots, narrow, wide);
  }

 private:
  template <Offset O>
  std::vector<index_t> detect(const CsrView<const void, O>& pattern, const SupervariableRule& rule);
  template <Offset O>
  std::optional<std::vector<index_t>> detect_coupled(const CsrView<const void, O>& matrix, ScalarType scalar,
                                                     const CouplingRule& rule);
  template <Offset O>
  PatternCheck inspect_pattern(const CsrView<const void, O>& pattern);
  template <Offset O>
  MapExtent measure(const CsrView<const void, O>& pattern, const BlockTable& blocks, MapSlot* slots);
  template <Offset O>
  void fill(const CsrView<const void, O>& pattern, const BlockTable& blocks, const MapSlot* slots,
            std::uint32_t* narrow, std::uint64_t* wide);

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
