#pragma once

#include "core/shared/solve_control.hpp"
#include "core/shared/vector_pass.hpp"

namespace blockjacobi::detail {

/// The scalar steps that a VectorPass may end with, for solvers without phases of their own in KrylovOps. A step is a
/// struct with the State that it belongs to and
///   BLOCKJACOBI_HD static void run(State& state, const accumulator_t<C>* dots),
/// which is called only while the state has not stopped.
enum class ScalarStep : int { none };

/// f(the step as a struct), and nothing for none. C is the compute scalar.
template <class C, class F>
void with_step(ScalarStep step, F&& /*f*/) {
  switch (step) {
    case ScalarStep::none: return;
  }
}

}  // namespace blockjacobi::detail
