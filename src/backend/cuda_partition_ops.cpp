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

/// Rows at which blocks begin.
class RowSet {
 public:
  RowSet(CudaContext& context, index_t rows)
      : context_(context), rows_(rows), memory_(context, kernels::row_set_words(rows) * sizeof(std::uint32_t)) {}
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(memory_.data()); }
  /// Of the blocks; waits.
  std::vector<index_t> offsets() const {
    std::vector<std::uint32_t> found(kernels::row_set_words(rows_));
    check(cudaMemcpyAsync(found.data(), words(), found.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost,
                          context_.stream()),
          "cudaMemcpyAsync(block starts)");
    context_.synchronize();
    return offsets_of(found, rows_);
  }

 private:
  CudaContext& context_;
  index_t rows_;
  CudaMemory memory_;
};

template <Offset O>
void find_supervariables(CudaContext& context, const CsrView<const void, O>& pattern, const SupervariableRule& rule,
                         const RowSet& starts, const RowSet& scratch) {
  const CudaMemory cuts(context, kernels::run_scratch_words(pattern.rows) * sizeof(index_t));
  kernels::find_run_starts(pattern, rule.tolerance, starts.words(), scratch.words(), context.stream());
  kernels::cut_runs(pattern.rows, rule.max_size, starts.words(), static_cast<index_t*>(cuts.data()), context.stream());
}

template <class C, Offset O>
CsrView<const C, O> typed(const CsrView<const void, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, static_cast<const C*>(m.values), m.base, m.space};
}

template <Offset O>
void measure_coupled(CudaContext& context, const CsrView<const void, O>& matrix, ScalarType scalar,
                     const CouplingRule& rule, const RowSet& starts, std::uint16_t* lengths) {
  const CudaMemory scratch(context, kernels::coupling_scratch_bytes(matrix.rows));
  const auto measure = [&](const auto& view) {
    kernels::measure_coupled(view, rule.supervariables.max_size, rule.threshold, starts.words(), lengths,
                             scratch.data(), context.stream());
  };
  switch (scalar) {
    case ScalarType::s: return measure(typed<float>(matrix));
    case ScalarType::d: return measure(typed<double>(matrix));
    case ScalarType::c: return measure(typed<Complex<float>>(matrix));
    case ScalarType::z: return measure(typed<Complex<double>>(matrix));
  }
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
  const RowSet starts(context_, pattern.rows), second(context_, pattern.rows);
  find_supervariables(context_, pattern, rule, starts, second);
  if (!rule.merge_greedily) return starts.offsets();
  const CudaMemory scratch(context_, kernels::merge_scratch_bytes(pattern.rows, rule.max_size));
  kernels::merge_greedily(pattern.rows, rule.max_size, starts.words(), second.words(), scratch.data(),
                          context_.stream());
  return second.offsets();
}

template <Offset O>
std::optional<std::vector<index_t>> CudaPartitionOps::detect_coupled(const CsrView<const void, O>& matrix,
                                                                     ScalarType scalar, const CouplingRule& rule) {
  const index_t rows = matrix.rows, max_size = rule.supervariables.max_size;
  if (rows == 0) return std::vector<index_t>{0};
  const PatternCheck check = inspect_pattern(matrix);
  if (!check.is_valid || !check.is_sorted) return std::nullopt;
  const DeviceGuard guard(context_.device());
  const RowSet starts(context_, rows), second(context_, rows);
  find_supervariables(context_, matrix, rule.supervariables, starts, second);
  const CudaMemory lengths(context_, static_cast<std::size_t>(rows) * sizeof(std::uint16_t));
  auto* const length = static_cast<std::uint16_t*>(lengths.data());
  measure_coupled(context_, matrix, scalar, rule, starts, length);
  const CudaMemory scratch(context_, kernels::merge_scratch_bytes(rows, max_size));
  kernels::merge_coupled(rows, max_size, starts.words(), length, second.words(), scratch.data(), context_.stream());
  return second.offsets();
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
