#pragma once

#include "kernels/apply/block_tasks.cuh"
#include "kernels/krylov/policy.hpp"

namespace blockjacobi::kernels {

/// Brings a block to the L2 cache, which its lanes call.
__device__ inline void fetch_block(const OwnRow& own, const void* begin, int bytes) {
  constexpr int line = 128;
  for (int i = own.rank * line; i < bytes; i += own.width * line)
    asm volatile("prefetch.global.L2 [%0];" : : "l"(static_cast<const std::byte*>(begin) + i));
}

/// Blocks in full.
template <class C>
struct FullRows {
  const BlockTasks<C>& tasks;
  __device__ OwnRow row(offset_t task) const { return own_row(tasks, task); }
  __device__ C product(const OwnRow& own, C r) const { return own.product(tasks.inverse, r); }
  __device__ void fetch(const OwnRow& own) const {
    fetch_block(own, tasks.inverse + own.start, own.order * own.order * static_cast<int>(sizeof(C)));
  }
};

/// z = M^-1 r, a warp for blocks that fit it: visit(i, r, z) once for each row i with r = element(i). blocks.row(task)
/// is the row of a lane in one of blocks.tasks, blocks.product(row, r) its element of z, called by whole warps, with 0
/// where there is no row; blocks.fetch(row) has the block brought near. begin() is called once by each thread, before
/// the first element and after the first fetch; there is no more to do if it is false, which is then the result. Called
/// by all threads of a launch of over_blocks_policy.
template <class Blocks, class Begin, class Element, class Visit>
__device__ bool visit_blocks(const Blocks& blocks, Begin begin, Element element, Visit visit) {
  using C = decltype(element(offset_t{}));
  constexpr int warps = over_blocks_policy.threads / 32;
  const offset_t tasks = blocks.tasks.warps, stride = static_cast<offset_t>(gridDim.x) * warps;
  offset_t task = static_cast<offset_t>(blockIdx.x) * warps + threadIdx.x / 32;
  if (task < tasks) blocks.fetch(blocks.row(task));
  if (!begin()) return false;
  for (; task < tasks; task += stride) {
    const OwnRow own = blocks.row(task);
    const C r = own.exists ? element(own.row) : C{};
    const C z = blocks.product(own, r);
    if (own.exists) visit(own.row, r, z);  // after the product, the loads of which need not wait for what it writes
  }
  return true;
}

}  // namespace blockjacobi::kernels
