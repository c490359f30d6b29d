#pragma once

#include "backend/cuda_apply_tiles.hpp"
#include "backend/cuda_context.hpp"
#include "backend/storage_ops.hpp"
#include "kernels/apply/launch.hpp"

#include <blockjacobi/array.hpp>

namespace blockjacobi::detail {

/// Products by kernels::apply_tiled(), with the tiles in device memory.
template <Scalar T>
class CudaTiledApply final : public PreparedApply<T> {
  using C = compute_t<T>;

 public:
  CudaTiledApply(CudaContext& context, const Backend& backend, const ApplyTiles& tiles)
      : context_(context), blocks_(backend, tiles.blocks), tiles_(backend, tiles.tiles) {}

  static std::size_t required_bytes(const ApplyTiles& tiles) {
    return tiles.blocks.size() * sizeof(StoredSlot) + tiles.tiles.size() * sizeof(ApplyTile);
  }
  std::size_t bytes() const override { return blocks_.bytes() + tiles_.bytes(); }

  bool apply(const BlockBatchView<const C>& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
             const ColumnsView<C>& z) const override {
    if (op != Op::none || r.count != 1 || r.row_stride != 1) return false;
    const DeviceGuard guard(context_.device());
    const ApplyTilesView tiles{blocks_.data(), tiles_.data(), static_cast<index_t>(tiles_.size())};
    kernels::apply_tiled<C>(inverse, tiles, {op, alpha, r, beta, z}, context_.stream());
    return true;
  }

 private:
  CudaContext& context_;
  Array<StoredSlot> blocks_;
  Array<ApplyTile> tiles_;
};

}  // namespace blockjacobi::detail
