#pragma once

#include "backend/block_ops.hpp"
#include "backend/cuda_context.hpp"

namespace blockjacobi::detail {

/// Blocks by the kernels of kernels/global/setup* and apply.
template <Scalar T>
class CudaBlockOps final : public BlockOps<T> {
 public:
  explicit CudaBlockOps(CudaContext& context) : context_(context) {}

  void setup(const T* values, const PositionMapView& map, const BlockBatchView<T>& inverse, Fallback fallback,
             const BlockStatusView<T>& status) override {
    const DeviceGuard guard(context_.device());
    kernels::setup_blocks(values, map, inverse, fallback, status, context_.stream());
  }

  void apply(const BlockBatchView<const T>& inverse, const T* r, T* z) override {
    const DeviceGuard guard(context_.device());
    kernels::apply_blocks(inverse, r, z, context_.stream());
  }

 private:
  CudaContext& context_;
};

}  // namespace blockjacobi::detail
