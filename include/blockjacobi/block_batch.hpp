#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/moved.hpp>

#include <vector>

namespace blockjacobi {

/// Where each block of a partition lies in packed storage: blocks grouped by order, each N x N column-major, back to
/// back; only the start of a group is padded, to 128 bytes. Known before anything is allocated.
/// One that was moved from has no blocks.
class BLOCKJACOBI_EXPORT BlockLayout {
 public:
  /// `scalar_bytes`: size of one element, a divisor of 128.
  BlockLayout(const BlockPartition& partition, std::size_t scalar_bytes);

  BlockLayout(const BlockLayout&) = default;
  BlockLayout(BlockLayout&&) noexcept = default;
  /// All of it or, where there is no memory, nothing.
  BlockLayout& operator=(const BlockLayout& other) { return *this = BlockLayout(other); }
  BlockLayout& operator=(BlockLayout&&) noexcept = default;
  ~BlockLayout() = default;

  std::span<const BlockGroup> groups() const noexcept { return groups_; }
  /// One a block, sorted by order, then by block number.
  std::span<const BlockSlot> slots() const noexcept { return slots_; }
  /// Elements, padding included.
  offset_t size() const noexcept { return size_; }
  /// Bytes of an element.
  std::size_t scalar_bytes() const noexcept { return scalar_bytes_; }
  index_t rows() const noexcept { return rows_; }
  index_t blocks() const noexcept { return static_cast<index_t>(slots_.size()); }

 private:
  std::vector<BlockGroup> groups_;
  std::vector<BlockSlot> slots_;
  detail::ZeroOnceMoved<offset_t> size_;
  detail::ZeroOnceMoved<index_t> rows_;
  std::size_t scalar_bytes_ = 0;
};

/// Owning batch of dense blocks in a backend's memory. One that was moved from has no blocks.
template <Scalar T>
class BLOCKJACOBI_EXPORT BlockBatch {
 public:
  /// Uninitialized blocks.
  BlockBatch(Backend backend, const BlockPartition& partition);
  /// The same for a layout that is there already. Throws InvalidArgument unless it is one of elements of sizeof(T)
  /// bytes.
  BlockBatch(Backend backend, BlockLayout layout);

  BlockBatchView<T> view() noexcept;
  BlockBatchView<const T> view() const noexcept;
  const BlockLayout& layout() const noexcept { return layout_; }
  /// Values and slots.
  std::size_t bytes() const noexcept { return values_.bytes() + slots_.bytes(); }
  /// Copies block `block` to the host, column-major, and waits. Throws InvalidArgument if there is no such block.
  std::vector<T> block(index_t block) const;

 private:
  BlockLayout layout_;
  Array<T> values_;
  Array<BlockSlot> slots_;
};

}  // namespace blockjacobi
