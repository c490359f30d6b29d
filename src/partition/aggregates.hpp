#pragma once

#include "core/shared/cluster_rules.hpp"

#include <blockjacobi/block_partition.hpp>

#include <algorithm>
#include <cmath>

namespace blockjacobi::detail {

/// How many rows the clusters may have that become `count` aggregates of blocks, from one attempt to the next.
class AggregateSizes {
 public:
  AggregateSizes(const BlockPartition& blocks, index_t count)
      : count_(count),
        size_(std::max<double>(blocks.largest_block(), std::ceil(room * blocks.rows() / std::max(count, 1)))) {}

  index_t most() const { return static_cast<index_t>(std::min<double>(size_, largest_cluster)); }
  /// After an attempt that found so many clusters; false if it was the last.
  bool grow(index_t found) {
    if (found <= count_ || ++attempts_ == max_attempts) return false;
    const double missed = static_cast<double>(found) / std::max(count_, 1);
    size_ *= std::clamp(missed, least_growth, most_growth);
    return true;
  }

 private:
  /// Over the mean, in the first attempt: clusters are never quite full.
  static constexpr double room = 1.3;
  static constexpr double least_growth = 1.1, most_growth = 1.5;
  static constexpr int max_attempts = 8;

  index_t count_;
  double size_;
  int attempts_ = 0;
};

}  // namespace blockjacobi::detail
