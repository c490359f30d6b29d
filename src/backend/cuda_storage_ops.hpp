#pragma once

#include "backend/cuda_check.hpp"
#include "backend/cuda_context.hpp"
#include "backend/storage_ops.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/defect_words.hpp"
#include "kernels/apply/launch.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/setup/launch.hpp"
#include "kernels/storage/launch.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace blockjacobi::detail {

/// Inverses after their set-up, by kernels/{setup,storage,apply,partition}.
template <Scalar T>
class CudaStorageOps final : public StorageOps<T> {
  using C = compute_t<T>;

 public:
  explicit CudaStorageOps(CudaContext& context) : context_(context) {}

  offset_t scratch_size(index_t largest, index_t blocks) const override {
    return kernels::storage_scratch<C>(largest, blocks);
  }
  /// Half of the second level of the cache; where a device does not tell, that of small ones.
  std::size_t chunk_bytes() const override { return std::max(context_.second_level_bytes() / 2, std::size_t{1} << 20); }

  void repair(const T* values, const PositionMapView& map, const BlockBatchView<T>& work, Repair repair,
              const BlockStatusView<T>& status, const Scratch<T>& scratch) override {
    const DeviceGuard guard(context_.device());
    const kernels::SetupArguments<C> arguments{compute_cast(values),
                                               map,
                                               compute_cast(work.data),
                                               work.slots,
                                               Fallback::scalar_jacobi,
                                               status.info,
                                               status.rcond,
                                               status.defects,
                                               static_cast<int>(defect_words(work.blocks))};
    kernels::repair_blocks(arguments, repair, work.groups, scratch_of(scratch), context_.stream());
  }

  void choose_formats(const T* values, const PositionMapView& map, const BlockBatchView<T>& work, double accuracy,
                      const BlockStatusView<T>& status, const Scratch<T>& scratch, Format* formats) override {
    const DeviceGuard guard(context_.device());
    kernels::choose_formats(blocks_of(values, map, work, status), accuracy, formats, work.groups, scratch_of(scratch),
                            context_.stream());
  }

  void store(const T* values, const PositionMapView& map, const BlockBatchView<T>& work, const StoredBlocksView& stored,
             double accuracy, const BlockStatusView<T>& status, const StorageStatusView& unsuited,
             const Scratch<T>& scratch) override {
    const DeviceGuard guard(context_.device());
    kernels::store_blocks(blocks_of(values, map, work, status), {stored, accuracy, unsuited}, work.groups,
                          scratch_of(scratch), context_.stream());
  }

  bool are_read_in_full(std::span<const BlockGroup> groups, index_t rows) const override {
    const DeviceGuard guard(context_.device());
    return kernels::blocks_can_reside(groups, rows);
  }

  void widen(const StoredBlocksView& stored, const BlockBatchView<T>& full) override {
    const DeviceGuard guard(context_.device());
    kernels::widen_blocks<C>(stored,
                             {compute_cast(full.data), full.slots, full.groups, full.blocks, full.rows, full.space},
                             context_.stream());
  }

  void count_defects(const int* info, index_t blocks, int* defects) override {
    const DeviceGuard guard(context_.device());
    kernels::count_defects(info, blocks, defects, context_.stream());
  }

  void append_l1_entries(const T* values, const L1PatternView& pattern, T* extended) override {
    const DeviceGuard guard(context_.device());
    kernels::append_l1_entries(compute_cast(values), pattern.row_offsets, pattern.columns, pattern.block_begin,
                               pattern.block_end, pattern.rows, compute_cast(extended), context_.stream());
  }

  std::uint64_t fingerprint(const CsrView<const void, std::int32_t>& pattern) override { return sum_of(pattern); }
  std::uint64_t fingerprint(const CsrView<const void, std::int64_t>& pattern) override { return sum_of(pattern); }

  void apply(const BlockBatchView<const T>& inverse, Op op, T alpha, const ColumnsView<const T>& r, T beta,
             const ColumnsView<T>& z) override {
    const DeviceGuard guard(context_.device());
    kernels::apply_columns(compute_view(inverse), arguments_of(op, alpha, r, beta, z), context_.stream());
  }

  void apply(const StoredBlocksView& inverse, Op op, T alpha, const ColumnsView<const T>& r, T beta,
             const ColumnsView<T>& z) override {
    const DeviceGuard guard(context_.device());
    kernels::apply_columns(inverse, arguments_of(op, alpha, r, beta, z), context_.stream());
  }

  std::optional<TileLimits> tile_limits(std::span<const BlockGroup> groups) const override {
    return kernels::tile_limits<C>(groups);
  }

  void apply_tiled(const BlockBatchView<const T>& inverse, const ApplyTilesView& tiles, Op op, T alpha,
                   const ColumnsView<const T>& r, T beta, const ColumnsView<T>& z) override {
    if (op != Op::none || r.count != 1 || r.row_stride != 1) return apply(inverse, op, alpha, r, beta, z);
    const DeviceGuard guard(context_.device());
    kernels::apply_tiled(compute_view(inverse), tiles, arguments_of(op, alpha, r, beta, z), context_.stream());
  }

 private:
  static BlockBatchView<const C> compute_view(const BlockBatchView<const T>& blocks) {
    return {compute_cast(blocks.data), blocks.slots, blocks.groups, blocks.blocks, blocks.rows, blocks.space};
  }
  static kernels::ScratchView<C> scratch_of(const Scratch<T>& scratch) {
    return {compute_cast(scratch.data), scratch.size};
  }
  static kernels::InvertedBlocks<C> blocks_of(const T* values, const PositionMapView& map,
                                              const BlockBatchView<T>& work, const BlockStatusView<T>& status) {
    return {compute_cast(values), map, compute_cast(work.data), work.slots, status.info};
  }
  static kernels::ApplyColumns<C> arguments_of(Op op, T alpha, const ColumnsView<const T>& r, T beta,
                                               const ColumnsView<T>& z) {
    return {op,
            *compute_cast(&alpha),
            {compute_cast(r.data), r.row_stride, r.column_stride, r.count},
            *compute_cast(&beta),
            {compute_cast(z.data), z.row_stride, z.column_stride, z.count}};
  }

  template <Offset O>
  std::uint64_t sum_of(const CsrView<const void, O>& pattern) {
    const DeviceGuard guard(context_.device());
    // In stream order nobody else uses the scratch of the reductions meanwhile.
    auto* const sum = reinterpret_cast<unsigned long long*>(context_.reductions().partials);
    kernels::fingerprint(pattern, sum, context_.stream());
    return context_.read(sum);
  }

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
