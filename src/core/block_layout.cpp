#include <blockjacobi/block_batch.hpp>

#include "core/message.hpp"

namespace blockjacobi {

namespace {

constexpr std::size_t group_alignment = 128;

offset_t round_up(offset_t value, offset_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

BlockLayout::BlockLayout(const BlockPartition& partition, std::size_t scalar_bytes)
    : rows_(partition.rows()), scalar_bytes_(scalar_bytes) {
  if (scalar_bytes == 0 || group_alignment % scalar_bytes != 0)
    throw InvalidArgument(
        detail::message("BlockLayout: scalar_bytes is {}, must divide {}", scalar_bytes, group_alignment));

  std::vector<index_t> count(static_cast<std::size_t>(max_block_size) + 1, 0);
  for (index_t b = 0; b < partition.blocks(); ++b) ++count[static_cast<std::size_t>(partition.block_size(b))];

  const auto elements = static_cast<offset_t>(group_alignment / scalar_bytes);
  std::vector<std::size_t> group_of(count.size(), 0);
  index_t first_slot = 0;
  offset_t end = 0;
  for (index_t size = 1; size <= max_block_size; ++size) {
    const index_t c = count[static_cast<std::size_t>(size)];
    if (c == 0) continue;
    end = round_up(end, elements);
    group_of[static_cast<std::size_t>(size)] = groups_.size();
    groups_.push_back({size, c, first_slot, -1, end});
    first_slot += c;
    end += static_cast<offset_t>(c) * size * size;
  }
  size_ = end;

  slots_.resize(static_cast<std::size_t>(partition.blocks()));
  std::vector<index_t> filled(groups_.size(), 0);
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const index_t size = partition.block_size(b);
    const std::size_t g = group_of[static_cast<std::size_t>(size)];
    const index_t rank = filled[g]++;
    const offset_t start = groups_[g].start + static_cast<offset_t>(rank) * size * size;
    slots_[static_cast<std::size_t>(groups_[g].first_slot + rank)] = {start, partition.first_row(b), size, b, 0};
  }
  for (BlockGroup& group : groups_) {
    // Rows increase with the slots.
    const index_t first = slots_[static_cast<std::size_t>(group.first_slot)].first_row;
    const index_t last = slots_[static_cast<std::size_t>(group.first_slot + group.count - 1)].first_row;
    if (last - first == (group.count - 1) * group.size) group.first_row = first;
  }
}

}  // namespace blockjacobi
