#pragma once

#include "kernels/apply/lanes.cuh"
#include "kernels/device.hpp"
#include "kernels/slots.hpp"

namespace blockjacobi::kernels {

/// Blocks of orders up to `width` (a power of two): each has a group of as many lanes.
struct BlockClass {
  index_t first_slot;
  index_t count;
  int width;
  offset_t first_warp;  ///< the tasks of warps are numbered through all classes
};
inline constexpr int block_classes = 6;

/// `Data` is what the starts of the slots count.
template <class Data, class Slot = BlockSlot>
struct BlockTasks {
  const Data* inverse;
  const Slot* slots;
  int order;        ///< of all blocks, which then need no slots; 0 if they differ
  offset_t stride;  ///< from one of them to the next
  BlockClass classes[block_classes];
  offset_t warps;
};

/// The row of a lane in a task of its warp.
struct OwnRow {
  offset_t row;
  offset_t start;  ///< of its block
  int order;
  int rank;
  int width;
  bool exists;
  offset_t slot;  ///< of its block

  /// Element of X r, r having the element of this row (0 if there is none); K columns of orders above 4 are on the way
  /// at once. The whole warp calls this.
  template <int K, class Elements, class C>
  __device__ C product(const Elements& x, C r) const {
    const int own = exists ? rank : -1;
    return width <= 4 ? block_product<4>(x, order, own, r, width) : block_product<K>(x, order, own, r, width);
  }
  template <class C>
  __device__ C product(const C* inverse, C r) const {
    return product<(sizeof(C) > 8 ? 4 : 8)>(PlainElements<C>{inverse + start}, r);
  }
};

template <class Data, class Slot>
__device__ OwnRow own_row(const BlockTasks<Data, Slot>& tasks, offset_t task) {
  BlockClass own = tasks.classes[0];
#pragma unroll
  for (int k = 1; k < block_classes; ++k)
    if (task >= tasks.classes[k].first_warp) own = tasks.classes[k];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int rank = lane & (own.width - 1);
  const offset_t member = (task - own.first_warp) * (32 / own.width) + lane / own.width;
  const bool exists = member < own.count;
  Slot slot{};
  if (tasks.order != 0) {
    slot.first_row = static_cast<index_t>(member) * tasks.order;
    slot.start = member * tasks.stride;
    slot.size = exists ? tasks.order : 0;
  } else if (exists) {
    slot = tasks.slots[own.first_slot + member];
  }
  return {static_cast<offset_t>(slot.first_row) + rank,
          slot.start,
          slot.size,
          rank,
          own.width,
          rank < slot.size,
          own.first_slot + member};
}

/// Of groups of ascending order; unit(order) is the size of a block.
template <class Data, class Slot, class Group, class Unit>
BlockTasks<Data, Slot> make_tasks(const Data* inverse, const Slot* slots, std::span<const Group> groups, Unit unit) {
  BlockTasks<Data, Slot> tasks{inverse, slots, 0, 0, {}, 0};
  int k = 0;
  index_t lower = 0;
  for (int width = 1; width <= largest_tiny_order; width *= 2, ++k) {
    const SlotRange range = slots_of_orders(groups, lower, width);
    tasks.classes[k] = {range.first, range.count, width, tasks.warps};
    const int at_once = 32 / width;
    tasks.warps += (static_cast<offset_t>(range.count) + at_once - 1) / at_once;
    lower = width;
  }
  if (groups.size() == 1) {
    tasks.order = groups[0].size;
    tasks.stride = unit(tasks.order);
    tasks.inverse += groups[0].start;
  }
  return tasks;
}

template <class C>
BlockTasks<C> tasks_of(const BlockBatchView<const C>& inverse) {
  return make_tasks(inverse.data, inverse.slots, inverse.groups, [](int n) { return offset_t{n} * n; });
}

}  // namespace blockjacobi::kernels
