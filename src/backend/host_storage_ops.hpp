#pragma once

#include "backend/backend_impl.hpp"
#include "backend/storage_ops.hpp"

namespace blockjacobi::detail {

/// Inverses on CPU threads after their set-up; the oracle for the kernels.
template <Scalar T>
class HostStorageOps final : public StorageOps<T> {
 public:
  explicit HostStorageOps(int threads) : threads_(threads) {}
  offset_t scratch_size(index_t largest, index_t blocks) const override;
  std::size_t chunk_bytes() const override { return std::size_t{1} << 20; }
  void repair(const T* values, const PositionMapView& map, const BlockBatchView<T>& work, Repair repair,
              const BlockStatusView<T>& status, const Scratch<T>& scratch) override;
  void choose_formats(const T* values, const PositionMapView& map, const BlockBatchView<T>& work, double accuracy,
                      const BlockStatusView<T>& status, const Scratch<T>& scratch, Format* formats) override;
  void store(const T* values, const PositionMapView& map, const BlockBatchView<T>& work, const StoredBlocksView& stored,
             double accuracy, const BlockStatusView<T>& status, const StorageStatusView& unsuited,
             const Scratch<T>& scratch) override;
  void count_defects(const int* info, index_t blocks, int* defects) override;
  void append_l1_entries(const T* values, const L1PatternView& pattern, T* extended) override;
  std::uint64_t fingerprint(const CsrView<const void, std::int32_t>& pattern) override;
  std::uint64_t fingerprint(const CsrView<const void, std::int64_t>& pattern) override;
  void apply(const BlockBatchView<const T>& inverse, Op op, T alpha, const ColumnsView<const T>& r, T beta,
             const ColumnsView<T>& z) override;
  void apply(const StoredBlocksView& inverse, Op op, T alpha, const ColumnsView<const T>& r, T beta,
             const ColumnsView<T>& z) override;

 private:
  int threads_;
};

}  // namespace blockjacobi::detail
