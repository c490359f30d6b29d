#pragma once

#include "backend/backend_impl.hpp"

namespace blockjacobi::detail {

/// Blocks on CPU threads, one block at a time per thread: the oracle for the kernels.
template <Scalar T>
class HostBlockOps final : public BlockOps<T> {
 public:
  explicit HostBlockOps(int threads) : threads_(threads) {}
  void setup(const T* values, const PositionMapView& map, const BlockBatchView<T>& inverse, Fallback fallback,
             const BlockStatusView<T>& status) override;
  void pivot_growth(const T* values, const PositionMapView& map, const BlockBatchView<T>& work, index_t* pivots,
                    int* info, real_t<T>* growth) override;
  void apply(const BlockBatchView<const T>& inverse, Op op, const T* r, T* z) override;

 private:
  int threads_;
};

}  // namespace blockjacobi::detail
