#pragma once

#include "backend/storage_ops.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>

#include <optional>
#include <vector>

namespace blockjacobi::detail {

/// Where blocks of chosen formats lie: sorted by format, then by order, then as in BlockLayout; back to back, only the
/// start of each group is padded, to 128 bytes.
struct StoredLayout {
  std::vector<StoredGroup> groups;
  std::vector<StoredSlot> slots;
  std::vector<index_t> place;  ///< slot of BlockLayout -> slot here
  std::size_t bytes = 0;
};

/// `formats`: one for all slots, or one each. Elements consist of `parts` reals of real_bytes.
StoredLayout make_stored_layout(const BlockLayout& layout, std::span<const Format> formats, int real_bytes, int parts);

/// Consecutive slots of a BlockLayout that are set up together, in work space of their own.
struct SetupChunks {
  std::vector<std::vector<BlockGroup>> groups;  ///< of each chunk; starts count within the chunk
  std::vector<BlockSlot> slots;                 ///< as those of the layout, but for the starts
  offset_t size = 0;                            ///< elements of the largest chunk
};
SetupChunks make_setup_chunks(const BlockLayout& layout, std::size_t scalar_bytes, std::size_t chunk_bytes);

/// Bytes of inverses that all have this format; if each has its own (none), an upper bound.
template <Scalar T>
std::size_t inverse_bytes_bound(const BlockLayout& layout, std::optional<Format> format);

/// Inverses in other formats than the full one. They are computed chunk by chunk in full precision in work space that
/// stays in a cache, and converted from there. Where they are few and a solver reads them in full, the work space is
/// where it finds them, rounded as they are stored.
template <Scalar T>
class StoredBlocks {
  using C = compute_t<T>;

 public:
  /// One format for all blocks.
  StoredBlocks(const Backend& backend, const BlockLayout& layout, Format format);
  /// A format for each block, to be chosen: reallocate() comes first.
  StoredBlocks(const Backend& backend, const BlockLayout& layout, double accuracy);

  bool is_adaptive() const { return accuracy_ > 0; }

  /// Runs set_up(batch) for the chunks and stores the blocks that it leaves. Enqueued. `check`: whether blocks that
  /// miss the accuracy are counted.
  template <class SetUp>
  void fill(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
            const ScratchView<C>& scratch, bool check, SetUp set_up);

  /// Chooses the formats anew and allocates what they take. Waits.
  template <class SetUp>
  void reallocate(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
                  const ScratchView<C>& scratch, SetUp set_up);

  StoredBlocksView view() const;
  /// The blocks as the apply has them, if they are there in full.
  std::optional<BlockBatchView<const C>> full() const;
  std::size_t bytes() const;
  const BlockLayout& layout() const { return layout_; }
  std::size_t inverse_bytes() const { return data_.bytes(); }
  /// An upper bound of bytes() for that format (none: adaptive), before anything is allocated.
  static std::size_t bytes_bound(const Backend& backend, const BlockLayout& layout, std::optional<Format> format);
  /// The block that the apply uses, widened, column-major. Waits.
  std::vector<T> block(offset_t slot) const;
  const std::vector<StoredGroup>& groups() const { return groups_; }

  /// Blocks that do not suit their format, and the first of them (-1 if there is none). Waits.
  struct Unsuited {
    index_t count = 0;
    index_t first = -1;
  };
  Unsuited unsuited() const;

 private:
  StoredBlocks(const Backend& backend, const BlockLayout& layout, std::optional<Format> format, double accuracy);
  /// Whether a solver reads them in full; then all are set up together.
  static bool keeps_full(const Backend& backend, const BlockLayout& layout);
  static SetupChunks chunks_of(const Backend& backend, const BlockLayout& layout);
  void allocate(const BlockLayout& layout, std::span<const Format> formats);
  StorageStatusView status_view() { return {unsuited_.data(), unsuited_.data() + 1, layout_.blocks()}; }
  BlockBatchView<C> chunk(const std::vector<BlockGroup>& groups) const;

  Backend backend_;
  BlockLayout layout_;
  Format format_;
  double accuracy_;
  std::vector<std::vector<BlockGroup>> chunks_;
  bool keeps_full_;
  Array<BlockSlot> setup_slots_;
  Array<T> work_;
  std::vector<StoredGroup> groups_;
  Array<std::byte> data_;
  Array<StoredSlot> slots_;
  Array<std::int16_t> exponents_;
  Array<index_t> place_;  ///< these two are empty unless formats differ
  Array<Format> formats_;
  Array<int> unsuited_;
};

template <Scalar T>
template <class SetUp>
void StoredBlocks<T>::fill(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
                           const ScratchView<C>& scratch, bool check, SetUp set_up) {
  StorageOps<T>& ops = storage_ops<T>(backend_);
  unsuited_.zero();
  for (const auto& groups : chunks_) {
    const BlockBatchView<C> work = chunk(groups);
    set_up(work);
    ops.store(values, map, work, view(), check ? accuracy_ : 0.0, status, status_view(), scratch);
  }
  if (keeps_full_ && !chunks_.empty()) ops.widen(view(), chunk(chunks_.front()));
}

template <Scalar T>
template <class SetUp>
void StoredBlocks<T>::reallocate(const C* values, const PositionMapView& map, const BlockStatusView<T>& status,
                                 const ScratchView<C>& scratch, SetUp set_up) {
  StorageOps<T>& ops = storage_ops<T>(backend_);
  for (const auto& groups : chunks_) {
    const BlockBatchView<C> work = chunk(groups);
    set_up(work);
    ops.choose_formats(values, map, work, accuracy_, status, scratch, formats_.data());
  }
  allocate(layout_, formats_.to_host());
}

}  // namespace blockjacobi::detail
