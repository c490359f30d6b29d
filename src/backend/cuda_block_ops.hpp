#pragma once

#include "backend/block_ops.hpp"
#include "backend/cuda_context.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/defect_words.hpp"
#include "kernels/apply/launch.hpp"
#include "kernels/lu/launch.hpp"
#include "kernels/partition/launch.hpp"
#include "kernels/setup/launch.hpp"

namespace blockjacobi::detail {

/// Blocks by kernels/setup, partition, lu and apply.
template <Scalar T>
class CudaBlockOps final : public BlockOps<T> {
  using C = compute_t<T>;

 public:
  explicit CudaBlockOps(CudaContext& context) : context_(context) {}

  void setup(const C* values, const PositionMapView& map, const BlockBatchView<C>& inverse, bool hermitian,
             Fallback fallback, const BlockStatusView<T>& status) override {
    const DeviceGuard guard(context_.device());
    kernels::setup_blocks(arguments(values, map, inverse, hermitian, fallback, status), inverse.groups,
                          context_.stream());
  }

  void repair(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, Repair repair,
              const real_t<T>* rounding_scales, const BlockStatusView<T>& status,
              const ScratchView<C>& scratch) override {
    const DeviceGuard guard(context_.device());
    kernels::repair_blocks(arguments(values, map, work, false, Fallback::scalar_jacobi, status), repair,
                           rounding_scales, work.groups, scratch, context_.stream());
  }

  void count_defects(const int* info, index_t blocks, int* defects) override {
    const DeviceGuard guard(context_.device());
    kernels::count_defects(info, blocks, defects, context_.stream());
  }

  void append_l1_entries(const C* values, const L1PatternView& pattern, C* extended) override {
    const DeviceGuard guard(context_.device());
    kernels::append_l1_entries(values, pattern.row_offsets, pattern.columns, pattern.block_begin, pattern.block_end,
                               pattern.rows, extended, context_.stream());
  }

  void pivot_growth(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, index_t* pivots,
                    int* info, real_t<T>* growth) override {
    const DeviceGuard guard(context_.device());
    const kernels::GrowthArguments<C> arguments{values, map, work.data, work.slots, growth};
    kernels::extract_equilibrated(arguments, work.groups, context_.stream());
    for (const BlockGroup& group : work.groups) {
      const index_t n = group.size;
      const auto lu = MatrixBatchView<C>::strided(arguments.work + group.start, n, n, n, offset_t{n} * n, group.count,
                                                  MemorySpace::device);
      kernels::getrf(lu, pivots, info, context_.stream());
    }
    kernels::growth_of_factors(arguments, work.groups, context_.stream());
  }

  void apply(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z) override {
    const DeviceGuard guard(context_.device());
    kernels::apply_blocks(inverse, op, r, z, context_.stream());
  }

 private:
  static kernels::SetupArguments<C> arguments(const C* values, const PositionMapView& map,
                                              const BlockBatchView<C>& batch, bool hermitian, Fallback fallback,
                                              const BlockStatusView<T>& status) {
    return {values,    map,         batch.data,   batch.slots,    fallback,
            hermitian, status.info, status.rcond, status.defects, static_cast<int>(defect_words(batch.blocks))};
  }

  CudaContext& context_;
};

}  // namespace blockjacobi::detail
