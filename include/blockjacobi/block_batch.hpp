#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_partition.hpp>

#include <memory>
#include <vector>

namespace blockjacobi {

namespace detail {
struct LayoutImpl;
}

/// Where each block of a partition lies in their storage: blocks grouped by order, each N x N column-major, back to
/// back; only the start of a group is padded, to 128 bytes. Known before anything is allocated.
/// Copies share what they refer to; safe to share between threads. One that was moved from has no blocks.
class BLOCKJACOBI_EXPORT BlockLayout {
 public:
  /// `scalar_bytes`: size of one element, a divisor of 128.
  BlockLayout(const BlockPartition& partition, std::size_t scalar_bytes);

  std::span<const BlockGroup> groups() const noexcept;
  /// One a block, sorted by order, then by block number. Made at the first call, from BlockPartition::offsets(), which
  /// may wait and throw.
  std::span<const BlockSlot> slots() const;
  /// Elements, padding included.
  offset_t size() const noexcept;
  /// Bytes of an element.
  std::size_t scalar_bytes() const noexcept;
  index_t rows() const noexcept;
  index_t blocks() const noexcept;

  /// For the library.
  const std::shared_ptr<const detail::LayoutImpl>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<const detail::LayoutImpl> impl_;
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
