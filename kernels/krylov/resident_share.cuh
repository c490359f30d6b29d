#pragma once

#include "kernels/krylov/csr_rows.cuh"
#include "kernels/slots.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::kernels {

/// The blocks of up to `most_groups` orders, for a kernel that looks for those of its rows.
template <class C>
struct ResidentBlocks {
  static constexpr int most_groups = largest_tiny_order;
  const C* inverse;
  const BlockSlot* slots;
  int count;
  BlockGroup groups[most_groups];
};

template <class C>
ResidentBlocks<C> resident_blocks(const BlockBatchView<const C>& inverse) {
  ResidentBlocks<C> blocks{inverse.data, inverse.slots, 0, {}};
  for (const BlockGroup& group : inverse.groups)
    if (group.count > 0) blocks.groups[blocks.count++] = group;
  return blocks;
}

/// The smallest i, low <= i <= high, for which is_before(i) is false; it is true for those below. By the whole warp.
template <class IsBefore>
__device__ int search_by_warp(int low, int high, IsBefore is_before) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  while (low < high) {
    const int width = (high - low + 31) / 32;
    const int probe = low + (lane + 1) * width - 1;
    const int passed = __popc(__ballot_sync(~0u, probe < high && is_before(probe)));
    low += passed * width;
    high = min(high, low + width - 1);
  }
  return low;
}

/// The first row of block `member` of a group.
template <class C>
__device__ int first_row_of_block(const ResidentBlocks<C>& blocks, const BlockGroup& group, int member) {
  return group.first_row >= 0 ? group.first_row + member * group.size
                              : blocks.slots[group.first_slot + member].first_row;
}

/// The members of a group whose blocks begin before `row`.
template <class C>
__device__ int members_before(const ResidentBlocks<C>& blocks, const BlockGroup& group, int row) {
  return search_by_warp(0, group.count, [&](int member) { return first_row_of_block(blocks, group, member) < row; });
}

/// Where the rows of thread block `cta` of the grid begin: shares have about as many entries, few enough rows, and
/// whole blocks. By the whole warp.
template <class C>
__device__ int share_begin(const CsrRows<C>& a, const ResidentBlocks<C>& blocks, unsigned cta, int row_weight) {
  const offset_t all = a.offsets[a.rows] - a.base + offset_t{row_weight} * a.rows;
  const offset_t target = all * cta / gridDim.x;
  const int row =
      search_by_warp(0, a.rows, [&](int i) { return a.offsets[i] - a.base + offset_t{row_weight} * i < target; });
  int begin = 0;  // of the first block that begins there or later: that behind the last one before
  for (int g = 0; g < blocks.count; ++g) {
    const BlockGroup& group = blocks.groups[g];
    const int before = members_before(blocks, group, row);
    if (before > 0) begin = max(begin, first_row_of_block(blocks, group, before - 1) + group.size);
  }
  return begin;
}

/// Bytes of a thread block, handed out one piece after the other.
class SharedRoom {
 public:
  __device__ SharedRoom(char* memory, int bytes) : memory_(memory), bytes_(bytes) {}

  template <class V>
  __device__ V* take(int count) {
    constexpr int alignment = 16;
    V* const taken = reinterpret_cast<V*>(memory_);
    const int bytes = (count * static_cast<int>(sizeof(V)) + alignment - 1) / alignment * alignment;
    memory_ += bytes;
    bytes_ -= bytes;
    return taken;
  }
  /// What is left for elements of so many bytes.
  __device__ int room_for(int element_bytes) const { return max(bytes_, 0) / element_bytes; }

 private:
  char* memory_;
  int bytes_;
};

}  // namespace blockjacobi::kernels
