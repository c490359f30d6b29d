#pragma once

#include "backend/backend_impl.hpp"
#include "core/compute_views.hpp"
#include "precond/stored_blocks.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace blockjacobi::detail {

/// The inverted blocks of a layout in backend memory, full or in other formats: set-up fills it, apply multiplies by
/// it. Who uses it does not ask how they are stored.
template <Scalar T>
class InverseStorage {
  using C = compute_t<T>;

 public:
  /// A format for all blocks; none: for each the cheapest that `accuracy` allows, by choose_formats().
  InverseStorage(const Backend& backend, const BlockLayout& layout, std::optional<Format> format, double accuracy);

  /// Runs set_up(batch) for batches of the blocks and stores what it leaves. Enqueued. `check`: whether blocks that
  /// miss the accuracy are counted.
  template <class SetUp>
  void fill(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
            const ScratchView<C>& scratch, bool check, SetUp set_up);
  /// Where formats are to be chosen: chooses anew and allocates what they take. Waits.
  template <class SetUp>
  void choose_formats(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
                      const ScratchView<C>& scratch, SetUp set_up);

  /// z = op(X) r.
  void apply(Op op, const C* r, C* z) const;
  /// Z = alpha op(X) R + beta Z; Z is not read if beta is zero.
  void apply(Op op, C alpha, const ColumnsView<const C>& r, C beta, const ColumnsView<C>& z) const;

  InverseView<T> view() const;
  /// For who asked for full storage; none in another.
  std::optional<BlockBatchView<const T>> full() const;
  /// Block number `block` as apply has it, column-major. Waits.
  std::vector<T> block(index_t block) const;

  const BlockLayout& layout() const { return stored_ ? stored_->layout() : full_.layout(); }
  /// Blocks of each format, in the order in which they are stored.
  std::vector<std::pair<Format, index_t>> formats() const;
  /// Blocks that do not suit their format. Waits.
  typename StoredBlocks<T>::Unsuited unsuited() const;
  /// Of the elements alone.
  std::size_t element_bytes() const;
  std::size_t bytes() const;
  /// What bytes() will be; an upper bound where formats are to be chosen.
  static std::size_t required_bytes(const Backend& backend, const BlockLayout& layout, std::optional<Format> format);

 private:
  Backend backend_;
  BlockBatch<T> full_;                                ///< without blocks where they are stored otherwise
  std::optional<StoredBlocks<T>> stored_;             ///< in other formats
  std::unique_ptr<const PreparedApply<T>> prepared_;  ///< of the full ones
};

template <Scalar T>
template <class SetUp>
void InverseStorage<T>::fill(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
                             const ScratchView<C>& scratch, bool check, SetUp set_up) {
  if (!stored_) return set_up(compute_view(full_.view()));
  stored_->fill(values, map, status, scratch, check, set_up);
  // A set-up counts the defects of its own batch.
  block_ops<T>(backend_).count_defects(status.info, layout().blocks(), status.defects);
}

template <Scalar T>
template <class SetUp>
void InverseStorage<T>::choose_formats(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
                                       const ScratchView<C>& scratch, SetUp set_up) {
  if (stored_ && stored_->is_adaptive()) stored_->reallocate(values, map, status, scratch, set_up);
}

}  // namespace blockjacobi::detail
