#include "backend/cuda_partition_ops.hpp"

#include "backend/cuda_check.hpp"
#include "backend/cuda_clusters.hpp"
#include "core/layout_impl.hpp"
#include "core/partition_impl.hpp"
#include "core/permutation_impl.hpp"
#include "kernels/partition/launch_clusters.hpp"
#include "kernels/partition/launch_sort.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace blockjacobi::detail {

namespace {

/// Rows at which blocks begin.
class RowSet {
 public:
  RowSet(CudaContext& context, index_t rows)
      : rows_(rows), memory_(context, kernels::row_set_words(rows) * sizeof(std::uint32_t)) {}
  index_t rows() const { return rows_; }
  std::uint32_t* words() const { return static_cast<std::uint32_t*>(memory_.data()); }

 private:
  index_t rows_;
  CudaMemory memory_;
};

/// `scratch` and `starts` differ; `check` as find_run_starts() has it.
template <Offset O>
void find_supervariables(CudaContext& context, const CsrView<const void, O>& pattern, const SupervariableRule& rule,
                         const kernels::PatternCounts* check, const RowSet& scratch, const RowSet& starts) {
  kernels::find_run_starts(pattern, rule.tolerance, check, scratch.words(), starts.words(), context.stream());
  kernels::cut_runs(pattern.rows, rule.max_size, scratch.words(), starts.words(), context.stream());
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
  Counts read() const { return context_.read(get()); }

 private:
  CudaContext& context_;
  CudaMemory memory_;
};

using OrderCounts = std::array<kernels::OrderCount, max_block_size + 1>;

std::vector<BlocksOfOrder> orders_of(const OrderCounts& counts, index_t rows) {
  std::vector<BlocksOfOrder> orders;
  for (index_t n = 1; n <= max_block_size; ++n) {
    const kernels::OrderCount& found = counts[static_cast<std::size_t>(n)];
    if (found.count > 0) orders.push_back({n, found.count, rows - found.rows_behind, found.last_row});
  }
  return orders;
}

/// What detection waits for; nothing is wrong with a pattern that was not checked.
struct FoundCounts {
  kernels::PatternCounts check;
  OrderCounts orders;
};

/// Waits for the orders. None if the pattern is not valid.
std::optional<BlockPartition> partition_of(CudaContext& context, const Backend& backend, const RowSet& starts,
                                           const DeviceCounts<FoundCounts>& counts) {
  const index_t rows = starts.rows();
  kernels::count_orders(rows, starts.words(), counts.get()->orders.data(), context.stream());
  const FoundCounts found = counts.read();
  if (found.check.faults != 0) return std::nullopt;
  std::vector<BlocksOfOrder> orders = orders_of(found.orders, rows);
  if (const index_t size = uniform_size(orders); size > 0)
    return BlockPartition(std::make_shared<const PartitionImpl>(rows, size));
  index_t blocks = 0;
  for (const BlocksOfOrder& order : orders) blocks += order.count;
  Array<index_t> offsets(backend, static_cast<std::size_t>(blocks) + 1);
  const CudaMemory scratch(context, kernels::offsets_scratch_bytes(rows));
  kernels::list_offsets(rows, blocks, starts.words(), offsets.data(), scratch.data(), context.stream());
  return BlockPartition(std::make_shared<const PartitionImpl>(std::move(orders), std::move(offsets)));
}

/// By order.
std::vector<kernels::FirstPlace> places_of(std::span<const BlockGroup> groups) {
  std::vector<kernels::FirstPlace> places(static_cast<std::size_t>(max_block_size) + 1);
  for (const BlockGroup& group : groups) places[static_cast<std::size_t>(group.size)] = {group.first_slot, group.start};
  return places;
}

/// Device memory with a copy of what lies on the host; enqueued.
template <class T>
CudaMemory uploaded(CudaContext& context, std::span<const T> host) {
  CudaMemory memory(context, host.size_bytes());
  check(cudaMemcpyAsync(memory.data(), host.data(), host.size_bytes(), cudaMemcpyHostToDevice, context.stream()),
        "cudaMemcpyAsync(blocks)");
  return memory;
}

PatternCheck check_of(const kernels::PatternCounts& found) {
  return {found.faults == 0, found.unsorted == 0, found.fingerprint};
}

kernels::MappedBlocks mapped(const BlockTable& blocks) {
  return {nullptr, blocks.slots, blocks.groups, blocks.blocks, blocks.rows, MemorySpace::device};
}

}  // namespace

template <Offset O>
std::optional<BlockPartition> CudaPartitionOps::find(const Backend& backend, const CsrView<const void, O>& pattern,
                                                     const SupervariableRule& rule, bool checks) {
  if (pattern.rows == 0 && !checks) return BlockPartition();
  const DeviceGuard guard(context_.device());
  const DeviceCounts<FoundCounts> counts(context_);
  const kernels::PatternCounts* const check = checks ? &counts.get()->check : nullptr;
  if (checks) kernels::check_pattern(pattern, &counts.get()->check, context_.stream());
  if (pattern.rows == 0) return counts.read().check.faults != 0 ? std::nullopt : std::optional(BlockPartition());
  const RowSet starts(context_, pattern.rows), second(context_, pattern.rows);
  find_supervariables(context_, pattern, rule, check, second, starts);
  if (!rule.merge_greedily) return partition_of(context_, backend, starts, counts);
  const CudaMemory scratch(context_, kernels::merge_scratch_bytes(pattern.rows, rule.max_size));
  kernels::merge_greedily(pattern.rows, rule.max_size, starts.words(), second.words(), scratch.data(),
                          context_.stream());
  return partition_of(context_, backend, second, counts);
}

template <Offset O>
std::optional<BlockPartition> CudaPartitionOps::find_coupled(const Backend& backend,
                                                             const CsrView<const void, O>& matrix, ScalarType scalar,
                                                             const CouplingRule& rule) {
  const index_t rows = matrix.rows, max_size = rule.supervariables.max_size;
  if (rows == 0) return BlockPartition();
  const PatternCheck check = inspect_pattern(matrix);
  if (!check.is_valid || !check.is_sorted) return std::nullopt;
  const DeviceGuard guard(context_.device());
  const RowSet starts(context_, rows), second(context_, rows);
  find_supervariables(context_, matrix, rule.supervariables, nullptr, second, starts);
  const CudaMemory lengths(context_, static_cast<std::size_t>(rows) * sizeof(std::uint16_t));
  auto* const length = static_cast<std::uint16_t*>(lengths.data());
  measure_coupled(context_, matrix, scalar, rule, starts, length);
  const CudaMemory scratch(context_, kernels::merge_scratch_bytes(rows, max_size));
  kernels::merge_coupled(rows, max_size, starts.words(), length, second.words(), scratch.data(), context_.stream());
  return partition_of(context_, backend, second, DeviceCounts<FoundCounts>(context_));
}

template <Offset O>
PermutedPartition CudaPartitionOps::find_clusters(const Backend& backend, const CsrView<const void, O>& matrix,
                                                  ScalarType scalar, const BlockPartition& nodes, index_t max_size) {
  if (matrix.rows == 0) return {};
  const DeviceGuard guard(context_.device());
  const RowSet starts(context_, matrix.rows);
  std::uint32_t* const words = starts.words();
  context_.zero(words, kernels::row_set_words(matrix.rows) * sizeof(std::uint32_t));
  Array<index_t> order(backend, static_cast<std::size_t>(matrix.rows));
  const auto find = [&](const auto& view) {
    cuda_clusters(context_, backend, view, nodes, max_size, order.data(), words);
  };
  switch (scalar) {
    case ScalarType::s: find(typed<float>(matrix)); break;
    case ScalarType::d: find(typed<double>(matrix)); break;
    case ScalarType::c: find(typed<Complex<float>>(matrix)); break;
    case ScalarType::z: find(typed<Complex<double>>(matrix)); break;
  }
  BlockPartition blocks = *partition_of(context_, backend, starts, DeviceCounts<FoundCounts>(context_));
  return {Permutation(std::make_shared<const PermutationImpl>(std::move(order))), std::move(blocks)};
}

template <Offset O>
Symmetry CudaPartitionOps::find_symmetry(const CsrView<const void, O>& matrix, ScalarType scalar, double tolerance) {
  const DeviceGuard guard(context_.device());
  const DeviceCounts<kernels::UnequalCounts> counts(context_);
  const auto count = [this, tolerance, unequal = counts.get()](const auto& view) {
    kernels::count_unequal(view, tolerance, unequal, context_.stream());
  };
  switch (scalar) {
    case ScalarType::s: count(typed<float>(matrix)); break;
    case ScalarType::d: count(typed<double>(matrix)); break;
    case ScalarType::c: count(typed<Complex<float>>(matrix)); break;
    case ScalarType::z: count(typed<Complex<double>>(matrix)); break;
  }
  const kernels::UnequalCounts found = counts.read();
  const bool is_complex_scalar = scalar == ScalarType::c || scalar == ScalarType::z;
  if (is_complex_scalar && found.hermitian == 0) return Symmetry::hermitian;
  return found.symmetric == 0 ? Symmetry::symmetric : Symmetry::none;
}

template <Offset O>
CouplingTotals CudaPartitionOps::sum_of_couplings(const CsrView<const void, O>& matrix, ScalarType scalar) {
  const DeviceGuard guard(context_.device());
  std::array<kernels::CouplingSums, kernels::coupling_sums> found{};
  const CudaMemory roots(context_, sizeof(double) * static_cast<std::size_t>(matrix.rows)),
      sums(context_, sizeof(found));
  context_.zero(sums.data(), sizeof(found));
  const auto add = [&](const auto& view) {
    auto* const root = static_cast<double*>(roots.data());
    kernels::scale_rows(view, view.nnz, root, context_.stream());
    kernels::sum_couplings(view, view.nnz, root, static_cast<kernels::CouplingSums*>(sums.data()), context_.stream());
  };
  switch (scalar) {
    case ScalarType::s: add(typed<float>(matrix)); break;
    case ScalarType::d: add(typed<double>(matrix)); break;
    case ScalarType::c: add(typed<Complex<float>>(matrix)); break;
    case ScalarType::z: add(typed<Complex<double>>(matrix)); break;
  }
  context_.read(found.data(), sums.data(), sizeof(found));
  CouplingTotals totals;
  for (const kernels::CouplingSums& sum : found) {
    totals.all += static_cast<double>(sum.all) * 0x1p-32;
    totals.positive += static_cast<double>(sum.positive) * 0x1p-32;
  }
  return totals;
}

template <Offset O>
std::optional<RenumberedPattern> CudaPartitionOps::renumbered(const Backend& backend,
                                                              const CsrView<const void, O>& pattern,
                                                              const Permutation& permutation) {
  const index_t rows = pattern.rows;
  const offset_t nnz = pattern.nnz;
  if (rows == 0 || nnz > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  const DeviceGuard guard(context_.device());
  CUstream_st* const stream = context_.stream();
  const auto count = static_cast<std::size_t>(nnz), size = static_cast<std::size_t>(rows);
  RenumberedPattern found{Array<std::int32_t>(backend, size + 1), Array<index_t>(backend, count),
                          Array<offset_t>(backend, count)};
  const index_t* order = permutation.impl()->order_in(backend);
  const CudaMemory given = order == nullptr ? uploaded(context_, permutation.order()) : CudaMemory();
  if (order == nullptr) order = static_cast<const index_t*>(given.data());
  const auto limit = static_cast<SortKey>(rows) * static_cast<SortKey>(rows);
  const CudaMemory inverse(context_, size * sizeof(index_t));
  const CudaMemory keys(context_, count * sizeof(SortKey)), sorted(context_, count * sizeof(SortKey));
  const CudaMemory entries(context_, count * sizeof(std::int32_t)), places(context_, count * sizeof(std::int32_t));
  const CudaMemory scratch(context_, std::max(kernels::sort_bytes(nnz, limit), kernels::scan_bytes(rows + 1)));
  const auto numbers = [](const CudaMemory& memory) { return static_cast<std::int32_t*>(memory.data()); };
  const auto sort_keys = [](const CudaMemory& memory) { return static_cast<SortKey*>(memory.data()); };
  kernels::invert_order(rows, order, numbers(inverse), stream);
  kernels::key_renumbered(pattern, order, numbers(inverse), sort_keys(keys), numbers(entries), found.offsets.data(),
                          stream);
  kernels::sum_before(rows + 1, found.offsets.data(), found.offsets.data(), scratch.data(), stream);
  kernels::sort_keys(nnz, limit, sort_keys(keys), sort_keys(sorted), numbers(entries), numbers(places), scratch.data(),
                     stream);
  kernels::split_renumbered(nnz, rows, sort_keys(sorted), numbers(places), found.columns.data(), found.source.data(),
                            stream);
  if (given.data() != nullptr) context_.synchronize();  // the order of the host was perhaps still being read
  return found;
}

void CudaPartitionOps::place(const BlockLayout& layout, const index_t* offsets, BlockSlot* slots) {
  const DeviceGuard guard(context_.device());
  const PartitionImpl& blocks = *layout.impl()->partition.impl();
  if (blocks.uniform_size() > 0)
    return kernels::place_uniform(blocks.rows(), blocks.uniform_size(), layout.groups().back().start, slots,
                                  context_.stream());
  const CudaMemory given = offsets == nullptr ? uploaded(context_, blocks.offsets()) : CudaMemory();
  if (offsets == nullptr) offsets = static_cast<const index_t*>(given.data());
  const std::vector<kernels::FirstPlace> first = places_of(layout.groups());
  const CudaMemory places = uploaded(context_, std::span(first));
  const CudaMemory scratch(context_, kernels::place_scratch_bytes(blocks.blocks()));
  kernels::place_sorted(blocks.blocks(), offsets, static_cast<const kernels::FirstPlace*>(places.data()), slots,
                        scratch.data(), context_.stream());
  context_.synchronize();  // `first` was perhaps still being read
}

template <Offset O>
PatternCheck CudaPartitionOps::inspect_pattern(const CsrView<const void, O>& pattern) {
  const DeviceGuard guard(context_.device());
  const DeviceCounts<kernels::PatternCounts> counts(context_);
  kernels::check_pattern(pattern, counts.get(), context_.stream());
  return check_of(counts.read());
}

template <Offset O>
CheckedExtent CudaPartitionOps::measure(const CsrView<const void, O>& pattern, bool l1, const BlockTable& blocks,
                                        MapSlot* slots, bool checks) {
  struct Counts {
    kernels::PatternCounts check;
    kernels::MapCounts map;
  };
  const DeviceGuard guard(context_.device());
  const DeviceCounts<Counts> counts(context_);
  Counts* const counted = counts.get();
  if (checks) kernels::check_pattern(pattern, &counted->check, context_.stream());
  kernels::measure_map(pattern, l1, mapped(blocks), checks ? &counted->check : nullptr, slots, &counted->map,
                       context_.stream());
  const Counts found = counts.read();
  const MapExtent extent{static_cast<offset_t>(found.map.entries), static_cast<offset_t>(found.map.words),
                         found.map.wide == 0};
  if (extent.words > 0) {  // otherwise all begin at 0 already
    const CudaMemory scratch(context_, kernels::map_scratch_bytes(blocks.blocks));
    kernels::sum_map_words(blocks.blocks, extent.narrow, slots, static_cast<offset_t*>(scratch.data()),
                           context_.stream());
  }
  return {check_of(found.check), extent};
}

template <Offset O>
void CudaPartitionOps::fill(const CsrView<const void, O>& pattern, bool l1, const BlockTable& blocks,
                            const MapSlot* slots, std::uint32_t* narrow, std::uint64_t* wide) {
  const DeviceGuard guard(context_.device());
  if (narrow != nullptr) return kernels::fill_map(pattern, l1, mapped(blocks), slots, narrow, context_.stream());
  kernels::fill_map(pattern, l1, mapped(blocks), slots, wide, context_.stream());
}

template <Offset O>
void CudaPartitionOps::list(const CsrView<const void, O>& pattern, const BlockTable& blocks, const L1Arrays& rows) {
  const DeviceGuard guard(context_.device());
  kernels::list_l1_rows(pattern, mapped(blocks), rows.row_offsets, rows.columns, rows.block_begin, rows.block_end,
                        context_.stream());
}

}  // namespace blockjacobi::detail
