#include "core/partition_impl.hpp"

#include <algorithm>
#include <array>

namespace blockjacobi::detail {

namespace {

std::vector<BlocksOfOrder> uniform_orders(index_t rows, index_t size) {
  const index_t whole = rows / size, rest = rows % size;
  std::vector<BlocksOfOrder> orders;
  if (rest > 0) orders.push_back({rest, 1, rows - rest, rows - rest});
  if (whole > 0) orders.push_back({size, whole, 0, (whole - 1) * size});
  return orders;
}

std::vector<BlocksOfOrder> orders_of(std::span<const index_t> offsets) {
  std::array<BlocksOfOrder, max_block_size + 1> of_size{};
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const index_t size = offsets[b + 1] - offsets[b];
    BlocksOfOrder& order = of_size[static_cast<std::size_t>(size)];
    if (order.count == 0) order = {size, 0, offsets[b], 0};
    ++order.count;
    order.last_row = offsets[b];
  }
  std::vector<BlocksOfOrder> orders;
  std::ranges::copy_if(of_size, std::back_inserter(orders), [](const BlocksOfOrder& o) { return o.count > 0; });
  return orders;
}

index_t blocks_of(std::span<const BlocksOfOrder> orders) {
  index_t blocks = 0;
  for (const BlocksOfOrder& order : orders) blocks += order.count;
  return blocks;
}

index_t rows_of(std::span<const BlocksOfOrder> orders) {
  index_t rows = 0;
  for (const BlocksOfOrder& order : orders) rows += order.count * order.size;
  return rows;
}

std::vector<index_t> uniform_offsets(index_t rows, index_t blocks, index_t size) {
  std::vector<index_t> offsets(static_cast<std::size_t>(blocks) + 1, rows);
  for (index_t b = 0; b < blocks; ++b) offsets[static_cast<std::size_t>(b)] = b * size;
  return offsets;
}

}  // namespace

index_t uniform_size(std::span<const BlocksOfOrder> orders) {
  if (orders.size() == 1) return orders[0].size;
  // A single smaller one, behind all others.
  const bool is_uniform =
      orders.size() == 2 && orders[0].count == 1 && orders[0].first_row == orders[1].count * orders[1].size;
  return is_uniform ? orders[1].size : 0;
}

PartitionImpl::PartitionImpl(index_t rows, index_t block_size)
    : orders_(uniform_orders(rows, block_size)),
      rows_(rows),
      blocks_(blocks_of(orders_)),
      uniform_size_(detail::uniform_size(orders_)) {}

PartitionImpl::PartitionImpl(std::vector<index_t> offsets)
    : orders_(orders_of(offsets)),
      rows_(offsets.back()),
      blocks_(static_cast<index_t>(offsets.size() - 1)),
      uniform_size_(detail::uniform_size(orders_)),
      on_host_(std::move(offsets)) {}

PartitionImpl::PartitionImpl(std::vector<BlocksOfOrder> orders, Array<index_t> offsets)
    : orders_(std::move(orders)),
      rows_(rows_of(orders_)),
      blocks_(blocks_of(orders_)),
      uniform_size_(detail::uniform_size(orders_)),
      in_backend_(std::move(offsets)) {}

std::span<const index_t> PartitionImpl::offsets() const {
  return on_host_.get(
      [this] { return uniform_size_ > 0 ? uniform_offsets(rows_, blocks_, uniform_size_) : in_backend_->to_host(); });
}

const index_t* PartitionImpl::offsets_in(const Backend& backend) const {
  return in_backend_ && in_backend_->backend() == backend ? in_backend_->data() : nullptr;
}

index_t PartitionImpl::first_row(index_t block) const {
  if (uniform_size_ == 0) return offsets()[static_cast<std::size_t>(block)];
  return block < blocks_ ? block * uniform_size_ : rows_;
}

}  // namespace blockjacobi::detail
