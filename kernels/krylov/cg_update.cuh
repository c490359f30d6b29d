#pragma once

#include "core/shared/cg_recurrence.hpp"
#include "kernels/collectives/await_previous.cuh"
#include "kernels/krylov/launch.hpp"
#include "kernels/krylov/over_blocks.cuh"
#include "kernels/krylov/scalar_step.cuh"

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

/// r -= alpha q, z = M^-1 r, then visit(r, z) of each row. False if the solve has stopped.
template <class Blocks, class C, class Visit>
__device__ bool update_blocks(const Blocks& blocks, const CgVectors<C>& v, const detail::CgState<C>* state,
                              Visit visit) {
  C alpha{};
  const auto begin = [&] {
    await_previous();
    alpha = state->alpha;
    return state->stop == 0;
  };
  return visit_blocks(
      blocks, begin, [&](offset_t i) { return v.r[i] - alpha * v.q[i]; },
      [&](offset_t i, C r, C z) {
        v.r[i] = r;
        v.z[i] = z;
        visit(r, z);
      });
}

/// The same with the dots.
template <class Blocks, class C>
__device__ void update_by_blocks(const Blocks& blocks, const CgVectors<C>& v, detail::CgState<C>* state,
                                 const ReductionWorkspace& workspace) {
  __shared__ typename UpdateSums<C>::Sum::Scratch scratch;
  UpdateSums<C> sums;
  if (update_blocks(blocks, v, state, [&](C r, C z) { sums.add(r, z); })) sums.finish(state, workspace, scratch);
}

}  // namespace blockjacobi::kernels
