#pragma once

#include "kernels/collectives/grid_sum.cuh"
#include "kernels/krylov/staged_state.cuh"
#include "kernels/krylov/vector.cuh"

// The state of a solver is only written by the thread block that arrives last in a reduction, after every other has
// read it.

namespace blockjacobi::kernels {

/// Runs step(state) in one thread of the block that arrived last, with all threads calling.
template <class State, class Step>
__device__ void scalar_step(State* state, Step step) {
  __shared__ StagedState<State> staged;
  State& own = staged.load(state);
  if (threadIdx.x == 0) step(own);
  staged.store(state);
}

/// The whole of a kernel that adds up K numbers over all n elements and then takes a scalar step: add(i, sums) for each
/// element, step(state, sums) once.
template <int K, class State, class Add, class Step>
__device__ void sum_and_step(index_t n, State* state, const ReductionWorkspace& workspace, Add add, Step step) {
  using Sum = GridSum<K>;
  __shared__ typename Sum::Scratch scratch;
  double sums[K] = {};
  for_each_element(n, [&](offset_t i) { add(i, sums); });
  if (!Sum::run(sums, workspace.partials, workspace.tickets, scratch)) return;
  scalar_step(state, [&](State& own) { step(own, sums); });
}

}  // namespace blockjacobi::kernels
