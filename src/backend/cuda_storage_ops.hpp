#pragma once

#include "backend/cuda_check.hpp"
#include "backend/cuda_context.hpp"
#include "backend/cuda_tiled_apply.hpp"
#include "backend/storage_ops.hpp"
#include "core/shared/compute_type.hpp"
#include "kernels/apply/launch.hpp"
#include "kernels/storage/launch.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>

namespace blockjacobi::detail {

/// Stored inverses by kernels/storage and kernels/apply.
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

  void choose_formats(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, double accuracy,
                      const BlockStatusView<T>& status, const ScratchView<C>& scratch, Format* formats) override {
    const DeviceGuard guard(context_.device());
    kernels::choose_formats(blocks_of(values, map, work, status), accuracy, formats, work.groups, scratch,
                            context_.stream());
  }

  void store(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, const StoredBlocksView& stored,
             double accuracy, const BlockStatusView<T>& status, const StorageStatusView& unsuited,
             const ScratchView<C>& scratch) override {
    const DeviceGuard guard(context_.device());
    kernels::store_blocks(blocks_of(values, map, work, status), {stored, accuracy, unsuited}, work.groups, scratch,
                          context_.stream());
  }

  void widen(const StoredBlocksView& stored, const BlockBatchView<C>& full) override {
    const DeviceGuard guard(context_.device());
    kernels::widen_blocks(stored, full, context_.stream());
  }

  void apply(const BlockBatchView<const C>& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
             const ColumnsView<C>& z) override {
    const DeviceGuard guard(context_.device());
    kernels::apply_columns<C>(inverse, {op, alpha, r, beta, z}, context_.stream());
  }

  void apply(const StoredBlocksView& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
             const ColumnsView<C>& z) override {
    const DeviceGuard guard(context_.device());
    kernels::apply_columns<C>(inverse, {op, alpha, r, beta, z}, context_.stream());
  }

  std::unique_ptr<PreparedApply<T>> prepare_apply(const Backend& backend, const BlockLayout& layout) override {
    const auto limits = kernels::tile_limits<C>(layout.groups());
    if (!limits) return nullptr;
    return std::make_unique<CudaTiledApply<T>>(context_, backend, make_apply_tiles(layout, *limits));
  }
  std::size_t prepared_bytes(const BlockLayout& layout) const override {
    const auto limits = kernels::tile_limits<C>(layout.groups());
    return limits ? CudaTiledApply<T>::required_bytes(make_apply_tiles(layout, *limits)) : 0;
  }

 private:
  static kernels::InvertedBlocks<C> blocks_of(const C* values, const PositionMapView& map,
                                              const BlockBatchView<C>& work, const BlockStatusView<T>& status) {
    return {values, map, work.data, work.slots, status.info};
  }

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
