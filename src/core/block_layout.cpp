#include "backend/backend_impl.hpp"
#include "core/layout_impl.hpp"
#include "core/message.hpp"
#include "core/partition_impl.hpp"

#include <array>

namespace blockjacobi {

namespace {

constexpr std::size_t group_alignment = 128;

offset_t round_up(offset_t value, offset_t multiple) { return (value + multiple - 1) / multiple * multiple; }

std::vector<BlockGroup> groups_of(std::span<const detail::BlocksOfOrder> orders, std::size_t scalar_bytes) {
  const auto elements = static_cast<offset_t>(group_alignment / scalar_bytes);
  std::vector<BlockGroup> groups;
  index_t first_slot = 0;
  offset_t end = 0;
  for (const detail::BlocksOfOrder& order : orders) {
    const bool follow_each_other = order.last_row - order.first_row == (order.count - 1) * order.size;
    const offset_t start = round_up(end, elements);
    groups.push_back({order.size, order.count, first_slot, follow_each_other ? order.first_row : -1, start});
    first_slot += order.count;
    end = start + static_cast<offset_t>(order.count) * order.size * order.size;
  }
  return groups;
}

std::vector<BlockSlot> make_slots(const BlockPartition& partition, std::span<const BlockGroup> groups) {
  struct Next {
    index_t slot;
    offset_t start;
  };
  std::array<Next, max_block_size + 1> next{};
  for (const BlockGroup& group : groups) next[static_cast<std::size_t>(group.size)] = {group.first_slot, group.start};
  std::vector<BlockSlot> slots(static_cast<std::size_t>(partition.blocks()));
  index_t first_row = 0;
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const index_t end = partition.first_row(b + 1), size = end - first_row;
    Next& place = next[static_cast<std::size_t>(size)];
    slots[static_cast<std::size_t>(place.slot++)] = {place.start, first_row, size, b, 0};
    place.start += static_cast<offset_t>(size) * size;
    first_row = end;
  }
  return slots;
}

}  // namespace

BlockLayout::BlockLayout(const BlockPartition& partition, std::size_t scalar_bytes) {
  if (scalar_bytes == 0 || group_alignment % scalar_bytes != 0)
    throw InvalidArgument(
        detail::message("BlockLayout: scalar_bytes is {}, must divide {}", scalar_bytes, group_alignment));
  auto impl = std::make_shared<detail::LayoutImpl>();
  impl->partition = partition;
  impl->scalar_bytes = scalar_bytes;
  if (const auto& blocks = partition.impl()) impl->groups = groups_of(blocks->orders(), scalar_bytes);
  if (!impl->groups.empty()) {
    const BlockGroup& last = impl->groups.back();
    impl->size = last.start + static_cast<offset_t>(last.count) * last.size * last.size;
  }
  impl_ = std::move(impl);
}

std::span<const BlockGroup> BlockLayout::groups() const noexcept {
  return impl_ ? std::span<const BlockGroup>(impl_->groups) : std::span<const BlockGroup>();
}

std::span<const BlockSlot> BlockLayout::slots() const {
  if (!impl_) return {};
  return impl_->slots.get([this] { return make_slots(impl_->partition, impl_->groups); });
}

offset_t BlockLayout::size() const noexcept { return impl_ ? impl_->size : 0; }
std::size_t BlockLayout::scalar_bytes() const noexcept { return impl_ ? impl_->scalar_bytes : 0; }
index_t BlockLayout::rows() const noexcept { return impl_ ? impl_->partition.rows() : 0; }
index_t BlockLayout::blocks() const noexcept { return impl_ ? impl_->partition.blocks() : 0; }

namespace detail {

Array<BlockSlot> slots_in(const Backend& backend, const BlockLayout& layout) {
  Array<BlockSlot> slots(backend, static_cast<std::size_t>(layout.blocks()));
  if (slots.size() == 0) return slots;
  backend.impl().partition_ops().place(layout, layout.impl()->partition.impl()->offsets_in(backend), slots.data());
  return slots;
}

}  // namespace detail

}  // namespace blockjacobi
