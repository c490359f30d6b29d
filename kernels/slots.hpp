#pragma once

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <span>

namespace blockjacobi::kernels {

/// Consecutive slots whose orders lie in one size class.
struct SlotRange {
  index_t first = 0;
  index_t count = 0;
  index_t smallest = 0;  ///< order that occurs
  index_t largest = 0;
};

/// The slots of order lower < N <= upper; groups of blocks as BlockGroup has them, in ascending order.
template <class Group>
SlotRange slots_of_orders(std::span<const Group> groups, index_t lower, index_t upper) {
  SlotRange range;
  for (const Group& group : groups) {
    if (group.size <= lower || group.size > upper || group.count == 0) continue;
    if (range.count == 0) {
      range.first = group.first_slot;
      range.smallest = group.size;
    }
    range.count += group.count;
    range.largest = group.size;
  }
  return range;
}

/// Calls launch(range) for each class lower < N <= bounds[0], bounds[0] < N <= bounds[1], ... that has blocks.
template <class Bounds, class Launch>
void for_each_class(std::span<const BlockGroup> groups, index_t lower, const Bounds& bounds, Launch launch) {
  for (const int upper : bounds) {
    const SlotRange range = slots_of_orders(groups, lower, upper);
    if (range.count > 0) launch(range);
    lower = upper;
  }
}

}  // namespace blockjacobi::kernels
