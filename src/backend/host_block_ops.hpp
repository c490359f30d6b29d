#pragma once

#include "backend/backend_impl.hpp"

namespace blockjacobi::detail {

/// Blocks on CPU threads, one block at a time per thread: the oracle for the kernels.
template <Scalar T>
class HostBlockOps final : public BlockOps<T> {
  using C = compute_t<T>;

 public:
  explicit HostBlockOps(int threads) : threads_(threads) {}
  void setup(const C* values, const PositionMapView& map, const BlockBatchView<C>& inverse, bool hermitian,
             Fallback fallback, const BlockStatusView<T>& status) override;
  void repair(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, Repair repair,
              const real_t<T>* rounding_scales, const BlockStatusView<T>& status,
              const ScratchView<C>& scratch) override;
  void count_defects(const int* info, index_t blocks, int* defects) override;
  void append_l1_entries(const C* values, const L1PatternView& pattern, C* extended) override;
  void pivot_growth(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, index_t* pivots,
                    int* info, real_t<T>* growth) override;
  void apply(const BlockBatchView<const C>& inverse, Op op, const C* r, C* z) override;

 private:
  int threads_;
};

}  // namespace blockjacobi::detail
