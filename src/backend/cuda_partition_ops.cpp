#include "backend/cuda_partition_ops.hpp"

#include "backend/cuda_check.hpp"

#include <bit>

namespace blockjacobi::detail {

namespace {

/// The rows of a set of rows, and `rows`.
std::vector<index_t> offsets_of(const std::vector<std::uint32_t>& starts, index_t rows) {
  std::size_t blocks = 0;
  for (const std::uint32_t word : starts) blocks += static_cast<std::size_t>(std::popcount(word));
  std::vector<index_t> offsets;
  offsets.reserve(blocks + 1);
  for (std::size_t word = 0; word < starts.size(); ++word)
    for (std::uint32_t rest = starts[word]; rest != 0; rest &= rest - 1)
      offsets.push_back(static_cast<index_t>(32 * word) + std::countr_zero(rest));
  offsets.push_back(rows);
  return offsets;
}

/// A number of the kernels, on its way to the host.
template <class Counts>
class DeviceCounts {
 public:
  explicit DeviceCounts(CudaContext& context) : context_(context), memory_(context, sizeof(Counts)) {
    context_.zero(get(), sizeof(Counts));
  }
  Counts* get() const { return static_cast<Counts*>(memory_.data()); }
  /// Waits.
  Counts read() const {
    Counts found;
    check(cudaMemcpyAsync(&found, get(), sizeof(found), cudaMemcpyDeviceToHost, context_.stream()),
          "cudaMemcpyAsync(counts)");
    context_.synchronize();
    return found;
  }

 private:
  CudaContext& context_;
  CudaMemory memory_;
};

kernels::MappedBlocks mapped(const BlockTable& blocks) {
  return {nullptr, blocks.slots, blocks.groups, blocks.blocks, blocks.rows, MemorySpace::device};
}

}  // namespace

template <Offset O>
std::vector<index_t> CudaPartitionOps::detect(const CsrView<const void, O>& pattern, const SupervariableRule& rule) {
  if (pattern.rows == 0) return {0};
  const DeviceGuard guard(context_.device());
  CUstream_st* const stream = context_.stream();
  std::vector<std::uint32_t> found(kernels::row_set_words(pattern.rows));
  const std::size_t bytes = found.size() * sizeof(std::uint32_t);
  const CudaMemory starts(context_, bytes), second(context_, bytes);
  const CudaMemory scratch(context_, kernels::run_scratch_words(pattern.rows) * sizeof(index_t));
  auto* const rows = static_cast<std::uint32_t*>(starts.data());
  auto* result = rows;
  kernels::find_run_starts(pattern, rule.tolerance, rows, static_cast<std::uint32_t*>(second.data()), stream);
  kernels::cut_runs(pattern.rows, rule.max_size, rows, static_cast<index_t*>(scratch.data()), stream);
  CudaMemory merging;
  if (rule.merge_greedily) {
    merging = CudaMemory(context_, kernels::merge_scratch_bytes(pattern.rows, rule.max_size));
    result = static_cast<std::uint32_t*>(second.data());
    kernels::merge_greedily(pattern.rows, rule.max_size, rows, result, merging.data(), stream);
  }
  check(cudaMemcpyAsync(found.data(), result, bytes, cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync(block starts)");
  context_.synchronize();
  return offsets_of(found, pattern.rows);
}

template <Offset O>
PatternCheck CudaPartitionOps::inspect_pattern(const CsrView<const void, O>& pattern) {
  const DeviceGuard guard(context_.device());
  const DeviceCounts<kernels::PatternCounts> counts(context_);
  kernels::check_pattern(pattern, counts.get(), context_.stream());
  const kernels::PatternCounts found = counts.read();
  return {found.faults == 0, found.descents == found.between_rows, found.fingerprint};
}

template <Offset O>
MapExtent CudaPartitionOps::measure(const CsrView<const void, O>& pattern, const BlockTable& blocks, MapSlot* slots) {
  const DeviceGuard guard(context_.device());
  const DeviceCounts<kernels::MapCounts> counts(context_);
  kernels::measure_map(pattern, mapped(blocks), slots, counts.get(), context_.stream());
  const kernels::MapCounts found = counts.read();
  const MapExtent extent{static_cast<offset_t>(found.entries), static_cast<offset_t>(found.words), found.wide == 0};
  if (extent.words == 0) return extent;  // then all begin at 0 already
  const CudaMemory scratch(context_, kernels::map_scratch_bytes(blocks.blocks));
  kernels::sum_map_words(blocks.blocks, extent.narrow, slots, static_cast<offset_t*>(scratch.data()),
                         context_.stream());
  return extent;
}

template <Offset O>
void CudaPartitionOps::fill(const CsrView<const void, O>& pattern, const BlockTable& blocks, const MapSlot* slots,
                            std::uint32_t* narrow, std::uint64_t* wide) {
  const DeviceGuard guard(context_.device());
  if (narrow != nullptr) return kernels::fill_map(pattern, mapped(blocks), slots, narrow, context_.stream());
  kernels::fill_map(pattern, mapped(blocks), slots, wide, context_.stream());
}

std::vector<index_t> CudaPartitionOps::block_offsets(const CsrView<const void, std::int32_t>& pattern,
                                                     const SupervariableRule& rule) {
  return detect(pattern, rule);
}

std::vector<index_t> CudaPartitionOps::block_offsets(const CsrView<const void, std::int64_t>& pattern,
                                                     const SupervariableRule& rule) {
  return detect(pattern, rule);
}

}  // namespace blockjacobi::detail
