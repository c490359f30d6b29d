#pragma once

#include "backend/block_ops.hpp"
#include "core/shared/columns_view.hpp"
#include "core/shared/stored_blocks_view.hpp"

#include <blockjacobi/block_batch.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>

namespace blockjacobi::detail {

/// What helps StorageOps::apply() of full blocks of one layout, in backend memory.
template <Scalar T>
class PreparedApply {
 public:
  using C = compute_t<T>;

  virtual ~PreparedApply() = default;
  /// As StorageOps::apply(); false, and nothing is done, where it does not help.
  virtual bool apply(const BlockBatchView<const C>& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
                     const ColumnsView<C>& z) const = 0;
  virtual std::size_t bytes() const = 0;
};

/// The formats in which inverses are stored, and products with what is stored. All pointers are in backend memory, all
/// calls are enqueued. `work` holds blocks as BlockOps left them: all of them, or those of some slots.
template <Scalar T>
class StorageOps {
 public:
  using C = compute_t<T>;

  virtual ~StorageOps() = default;

  /// Elements of scratch, also of BlockOps::repair, for blocks of order up to `largest`; bounded whatever the number of
  /// blocks.
  virtual offset_t scratch_size(index_t largest, index_t blocks) const = 0;

  /// Bytes of work that one call of setup and those that follow it should have, to stay in a cache.
  virtual std::size_t chunk_bytes() const = 0;

  /// The cheapest format of each block, by slot, in which ||I - A X||, X as stored, stays below `accuracy` in the
  /// infinity norm. Full for blocks with info != 0.
  virtual void choose_formats(const C* values, const PositionMapView& map, const BlockBatchView<C>& work,
                              double accuracy, const BlockStatusView<T>& status, const ScratchView<C>& scratch,
                              Format* formats) = 0;

  /// Writes the blocks of `work` to their places. Adds to `unsuited` those that are not Hermitian where they are
  /// packed, those of which a narrow format stores a row or column with non-zeros as zeros alone, and, with
  /// accuracy > 0, those whose ||I - A X|| is not below it.
  virtual void store(const C* values, const PositionMapView& map, const BlockBatchView<C>& work,
                     const StoredBlocksView& stored, double accuracy, const BlockStatusView<T>& status,
                     const StorageStatusView& unsuited, const ScratchView<C>& scratch) = 0;

  /// Writes the stored blocks, as apply() has them, to `full`, which has all of them; where KrylovOps::reads_in_full().
  virtual void widen(const StoredBlocksView&, const BlockBatchView<C>& /*full*/) {
    throw std::logic_error("StorageOps: blocks that are read in full need a widen()");
  }

  /// Z = alpha op(X) R + beta Z block by block; Z is not read if beta is zero.
  virtual void apply(const BlockBatchView<const C>& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
                     const ColumnsView<C>& z) = 0;
  virtual void apply(const StoredBlocksView& inverse, Op op, C alpha, const ColumnsView<const C>& r, C beta,
                     const ColumnsView<C>& z) = 0;

  /// What makes such products with full blocks of one layout faster; null if nothing does.
  virtual std::unique_ptr<PreparedApply<T>> prepare_apply(const Backend&, const BlockLayout&) { return nullptr; }
  /// PreparedApply::bytes(), before anything is allocated.
  virtual std::size_t prepared_bytes(const BlockLayout&) const { return 0; }
};

}  // namespace blockjacobi::detail
