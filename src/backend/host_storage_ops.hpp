#pragma once

#include "backend/backend_impl.hpp"
#include "backend/storage_ops.hpp"

namespace blockjacobi::detail {

/// Stored inverses on CPU threads; the oracle for the kernels.
template <Scalar T>
class HostStorageOps final : public StorageOps<T> {
  using C = compute_t<T>;

 public:
  explicit HostStorageOps(int threads) : threads_(threads) {}
  offset_t scratch_size(index_t largest, index_t blocks) const override;
  std::size_t chunk_bytes() const override { return std::size_t{1} << 20; }
  void choose_formats(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, double accuracy,
                      const BlockStatusView<T>& status, const ScratchView<C>& scratch, Format* formats) override;
  void store(const C* values, const PositionMapView& map, const BlockBatchView<C>& work, const StoredBlocksView& stored,
             double accuracy, const BlockStatusView<T>& status, const StorageStatusView& unsuited,
             const ScratchView<C>& scratch) override;
  void apply(const BlockBatchView<const C>& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
             const ColumnsView<C>& z) override;
  void apply(const StoredBlocksView& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
             const ColumnsView<C>& z) override;

 private:
  int threads_;
};

}  // namespace blockjacobi::detail
