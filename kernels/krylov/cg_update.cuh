#pragma once

#include "core/shared/cg_recurrence.hpp"
#include "kernels/apply/block_tasks.cuh"
#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/scalar_step.cuh"
#include "kernels/launch/dependent.cuh"

namespace blockjacobi::kernels {

/// r^H z and ||r||^2 of the elements that a thread has seen.
template <class C>
struct UpdateSums {
  static constexpr int width = sum_width<C>;
  using Sum = GridSum<width + 1>;
  double sums[width + 1] = {};

  __device__ void add(C r, C z) {
    accumulate_dot(sums, r, z);
    accumulate_square(sums[width], r);
  }
  __device__ void finish(detail::CgState<C>* state, const ReductionWorkspace& workspace,
                         typename Sum::Scratch& scratch) {
    if (!Sum::run(sums, workspace.partials, workspace.tickets, scratch)) return;
    scalar_step(state, [&](detail::CgState<C>& own) {
      own.rho_new = to_accumulator<C>(sums);
      own.rr = sums[width];
      detail::cg_direction_factor(own);
    });
  }
};

/// Brings a block to the L2 cache, which its lanes call.
__device__ inline void fetch_block(const OwnRow& own, const void* begin, int bytes) {
  constexpr int line = 128;
  for (int i = own.rank * line; i < bytes; i += own.width * line)
    asm volatile("prefetch.global.L2 [%0];" : : "l"(static_cast<const std::byte*>(begin) + i));
}

/// r -= alpha q, z = M^-1 r, then visit(r, z) of each row, a warp for blocks that fit it: blocks.row(task) is the row
/// of a lane in one of `tasks`, blocks.product(row, r) its element of z, called by whole warps, with 0 where there is
/// no row; blocks.fetch(row) has the block brought near. False if the solve has stopped.
template <class Blocks, class C, class Visit>
__device__ bool visit_blocks(const Blocks& blocks, offset_t tasks, const CgVectors<C>& v,
                             const detail::CgState<C>* state, Visit visit) {
  constexpr int warps = cg_update_ctas.threads / 32;
  const offset_t stride = static_cast<offset_t>(gridDim.x) * warps;
  offset_t task = static_cast<offset_t>(blockIdx.x) * warps + threadIdx.x / 32;
  if (task < tasks) blocks.fetch(blocks.row(task));
  await_previous();
  if (state->stop != 0) return false;
  const C alpha = state->alpha;
  for (; task < tasks; task += stride) {
    const OwnRow own = blocks.row(task);
    const C r = own.exists ? v.r[own.row] - alpha * v.q[own.row] : C{};
    const C z = blocks.product(own, r);
    if (!own.exists) continue;
    v.r[own.row] = r;  // after the product, the loads of which need not wait for it
    v.z[own.row] = z;
    visit(r, z);
  }
  return true;
}

/// The same with the dots.
template <class Blocks, class C>
__device__ void update_by_blocks(const Blocks& blocks, offset_t tasks, const CgVectors<C>& v, detail::CgState<C>* state,
                                 const ReductionWorkspace& workspace) {
  __shared__ typename UpdateSums<C>::Sum::Scratch scratch;
  UpdateSums<C> sums;
  if (visit_blocks(blocks, tasks, v, state, [&](C r, C z) { sums.add(r, z); })) sums.finish(state, workspace, scratch);
}

}  // namespace blockjacobi::kernels
