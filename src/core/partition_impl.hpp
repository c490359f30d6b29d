#pragma once

#include "core/deferred.hpp"

#include <blockjacobi/array.hpp>

#include <optional>
#include <span>
#include <vector>

namespace blockjacobi::detail {

/// The blocks of one order in a partition.
struct BlocksOfOrder {
  index_t size = 0;
  index_t count = 0;
  index_t first_row = 0;  ///< of the first of them
  index_t last_row = 0;   ///< the first row of the last of them
};

/// What the copies of a BlockPartition share; it has rows. Blocks that are uniform are known by their order, whoever
/// found them, and others by offsets, which stay where they were found. offsets() makes those of the host.
class PartitionImpl {
 public:
  /// Blocks of `block_size` rows, the last one shorter if it does not divide rows.
  PartitionImpl(index_t rows, index_t block_size);
  /// Those of the host, at least two, valid.
  explicit PartitionImpl(std::vector<index_t> offsets);
  /// Those in the memory of a backend, and what they amount to, by ascending order.
  PartitionImpl(std::vector<BlocksOfOrder> orders, Array<index_t> offsets);

  index_t rows() const { return rows_; }
  index_t blocks() const { return blocks_; }
  /// By ascending order.
  std::span<const BlocksOfOrder> orders() const { return orders_; }
  /// Rows of each block but the last, which has no more; 0 if they differ.
  index_t uniform_size() const { return uniform_size_; }
  /// On the host; waits for the backend if they come from there.
  std::span<const index_t> offsets() const;
  /// Null unless they lie in the memory of that backend.
  const index_t* offsets_in(const Backend& backend) const;

  index_t first_row(index_t block) const;

 private:
  std::vector<BlocksOfOrder> orders_;
  index_t rows_, blocks_, uniform_size_;
  std::optional<Array<index_t>> in_backend_;
  Deferred<index_t> on_host_;
};

/// The order of blocks that are uniform, 0 of others.
index_t uniform_size(std::span<const BlocksOfOrder> orders);

}  // namespace blockjacobi::detail
