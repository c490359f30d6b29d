#pragma once

#include "kernels/collectives/await_previous.cuh"
#include "kernels/krylov/csr_rows.cuh"
#include "kernels/krylov/scalar_step.cuh"

namespace blockjacobi::kernels {

/// The whole of a kernel for launch_dependent() that multiplies, adds up K numbers over the rows and then takes a
/// scalar step: visit(i, (A x)_i, sums) for each row, step(state, sums) once. False if the solve has stopped.
template <class Shape, int K, class C, class State, class Visit, class Step>
__device__ bool product_and_step(const CsrRows<C>& matrix, State* state, const ReductionWorkspace& workspace,
                                 Visit visit, Step step) {
  using Sum = GridSum<K>;
  using Rows = RowProducts<Shape>;
  __shared__ typename Sum::Scratch scratch;
  __shared__ typename Rows::template Scratch<C> products;
  bool goes_on = false;
  const auto begin = [&] {
    await_previous();
    return goes_on = state->stop == 0;
  };
  double sums[K] = {};
  Rows::run(matrix, products, begin, [&](offset_t i, C product) { visit(i, product, sums); });
  if (!goes_on) return false;
  if (Sum::run(sums, workspace.partials, workspace.tickets, scratch))
    scalar_step(state, [&](State& own) { step(own, sums); });
  return true;
}

}  // namespace blockjacobi::kernels
