#pragma once

#include "backend/cuda_context.hpp"
#include "backend/partition_ops.hpp"
#include "kernels/partition/launch.hpp"

namespace blockjacobi::detail {

/// Detection, clusters, layouts and position maps by kernels/partition. What comes to the host are the orders of
/// blocks, and the sizes of the graphs of clusters.
class CudaPartitionOps final : public PartitionOps {
 public:
  explicit CudaPartitionOps(CudaContext& context) : context_(context) {}
  BlockPartition detect(const Backend& backend, const CsrView<const void, std::int32_t>& pattern,
                        const SupervariableRule& rule) override {
    return *find(backend, pattern, rule, false);
  }
  BlockPartition detect(const Backend& backend, const CsrView<const void, std::int64_t>& pattern,
                        const SupervariableRule& rule) override {
    return *find(backend, pattern, rule, false);
  }
  std::optional<BlockPartition> detect_checked(const Backend& backend, const CsrView<const void, std::int32_t>& pattern,
                                               const SupervariableRule& rule) override {
    return find(backend, pattern, rule, true);
  }
  std::optional<BlockPartition> detect_checked(const Backend& backend, const CsrView<const void, std::int64_t>& pattern,
                                               const SupervariableRule& rule) override {
    return find(backend, pattern, rule, true);
  }
  std::optional<BlockPartition> detect_coupled(const Backend& backend, const CsrView<const void, std::int32_t>& matrix,
                                               ScalarType scalar, const CouplingRule& rule) override {
    return find_coupled(backend, matrix, scalar, rule);
  }
  std::optional<BlockPartition> detect_coupled(const Backend& backend, const CsrView<const void, std::int64_t>& matrix,
                                               ScalarType scalar, const CouplingRule& rule) override {
    return find_coupled(backend, matrix, scalar, rule);
  }
  std::optional<PermutedPartition> cluster(const Backend& backend, const CsrView<const void, std::int32_t>& matrix,
                                           ScalarType scalar, const BlockPartition& nodes, index_t max_size) override {
    return find_clusters(backend, matrix, scalar, nodes, max_size);
  }
  std::optional<PermutedPartition> cluster(const Backend& backend, const CsrView<const void, std::int64_t>& matrix,
                                           ScalarType scalar, const BlockPartition& nodes, index_t max_size) override {
    return find_clusters(backend, matrix, scalar, nodes, max_size);
  }

  std::optional<Symmetry> symmetry(const CsrView<const void, std::int32_t>& matrix, ScalarType scalar,
                                   double tolerance) override {
    return find_symmetry(matrix, scalar, tolerance);
  }
  std::optional<Symmetry> symmetry(const CsrView<const void, std::int64_t>& matrix, ScalarType scalar,
                                   double tolerance) override {
    return find_symmetry(matrix, scalar, tolerance);
  }
  std::optional<CouplingTotals> sum_couplings(const CsrView<const void, std::int32_t>& matrix,
                                              ScalarType scalar) override {
    return sum_of_couplings(matrix, scalar);
  }
  std::optional<CouplingTotals> sum_couplings(const CsrView<const void, std::int64_t>& matrix,
                                              ScalarType scalar) override {
    return sum_of_couplings(matrix, scalar);
  }
  std::optional<RenumberedPattern> renumber(const Backend& backend, const CsrView<const void, std::int32_t>& pattern,
                                            const Permutation& permutation) override {
    return renumbered(backend, pattern, permutation);
  }
  std::optional<RenumberedPattern> renumber(const Backend& backend, const CsrView<const void, std::int64_t>& pattern,
                                            const Permutation& permutation) override {
    return renumbered(backend, pattern, permutation);
  }

  std::uint64_t fingerprint(const CsrView<const void, std::int32_t>& pattern) override { return sum_of(pattern); }
  std::uint64_t fingerprint(const CsrView<const void, std::int64_t>& pattern) override { return sum_of(pattern); }

  void place(const BlockLayout& layout, const index_t* offsets, BlockSlot* slots) override;

  bool makes_maps() const override { return true; }
  PatternCheck inspect(const CsrView<const void, std::int32_t>& pattern) override { return inspect_pattern(pattern); }
  PatternCheck inspect(const CsrView<const void, std::int64_t>& pattern) override { return inspect_pattern(pattern); }
  MapExtent measure_map(const CsrView<const void, std::int32_t>& pattern, bool l1, const BlockTable& blocks,
                        MapSlot* slots) override {
    return measure(pattern, l1, blocks, slots, false).extent;
  }
  MapExtent measure_map(const CsrView<const void, std::int64_t>& pattern, bool l1, const BlockTable& blocks,
                        MapSlot* slots) override {
    return measure(pattern, l1, blocks, slots, false).extent;
  }
  CheckedExtent check_and_measure(const CsrView<const void, std::int32_t>& pattern, bool l1, const BlockTable& blocks,
                                  MapSlot* slots) override {
    return measure(pattern, l1, blocks, slots, true);
  }
  CheckedExtent check_and_measure(const CsrView<const void, std::int64_t>& pattern, bool l1, const BlockTable& blocks,
                                  MapSlot* slots) override {
    return measure(pattern, l1, blocks, slots, true);
  }
  void fill_map(const CsrView<const void, std::int32_t>& pattern, bool l1, const BlockTable& blocks,
                const MapSlot* slots, std::uint32_t* narrow, std::uint64_t* wide) override {
    fill(pattern, l1, blocks, slots, narrow, wide);
  }
  void fill_map(const CsrView<const void, std::int64_t>& pattern, bool l1, const BlockTable& blocks,
                const MapSlot* slots, std::uint32_t* narrow, std::uint64_t* wide) override {
    fill(pattern, l1, blocks, slots, narrow, wide);
  }
  void list_l1_rows(const CsrView<const void, std::int32_t>& pattern, const BlockTable& blocks,
                    const L1Arrays& rows) override {
    list(pattern, blocks, rows);
  }
  void list_l1_rows(const CsrView<const void, std::int64_t>& pattern, const BlockTable& blocks,
                    const L1Arrays& rows) override {
    list(pattern, blocks, rows);
  }

 private:
  template <Offset O>
  std::optional<BlockPartition> find(const Backend& backend, const CsrView<const void, O>& pattern,
                                     const SupervariableRule& rule, bool checks);
  template <Offset O>
  std::optional<BlockPartition> find_coupled(const Backend& backend, const CsrView<const void, O>& matrix,
                                             ScalarType scalar, const CouplingRule& rule);
  template <Offset O>
  PermutedPartition find_clusters(const Backend& backend, const CsrView<const void, O>& matrix, ScalarType scalar,
                                  const BlockPartition& nodes, index_t max_size);
  template <Offset O>
  Symmetry find_symmetry(const CsrView<const void, O>& matrix, ScalarType scalar, double tolerance);
  template <Offset O>
  CouplingTotals sum_of_couplings(const CsrView<const void, O>& matrix, ScalarType scalar);
  template <Offset O>
  std::optional<RenumberedPattern> renumbered(const Backend& backend, const CsrView<const void, O>& pattern,
                                              const Permutation& permutation);
  template <Offset O>
  std::uint64_t sum_of(const CsrView<const void, O>& pattern) {
    const DeviceGuard guard(context_.device());
    // In stream order nobody else uses the scratch of the reductions meanwhile.
    auto* const sum = reinterpret_cast<unsigned long long*>(context_.reductions().partials);
    kernels::fingerprint(pattern, sum, context_.stream());
    return context_.read(sum);
  }
  template <Offset O>
  PatternCheck inspect_pattern(const CsrView<const void, O>& pattern);
  template <Offset O>
  CheckedExtent measure(const CsrView<const void, O>& pattern, bool l1, const BlockTable& blocks, MapSlot* slots,
                        bool checks);
  template <Offset O>
  void fill(const CsrView<const void, O>& pattern, bool l1, const BlockTable& blocks, const MapSlot* slots,
            std::uint32_t* narrow, std::uint64_t* wide);
  template <Offset O>
  void list(const CsrView<const void, O>& pattern, const BlockTable& blocks, const L1Arrays& rows);

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
