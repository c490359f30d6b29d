#pragma once

#include "core/shared/minres_recurrence.hpp"
#include "core/shared/vector_pass.hpp"

namespace blockjacobi::detail {

/// The scalar steps that a VectorPass may end with, for solvers without phases of their own in KrylovOps. A step is a
/// struct with the State that it belongs to and
///   BLOCKJACOBI_HD static void run(State& state, const accumulator_t<C>* dots),
/// which is called only while the state has not stopped.
enum class ScalarStep : int { none, minres_begin, minres_lanczos, minres_rotate, minres_outcome };

/// f(the step as a struct), and nothing for none. C is the compute scalar.
template <class C, class F>
void with_step(ScalarStep step, F&& f) {
  switch (step) {
    case ScalarStep::none: return;
    case ScalarStep::minres_begin: return f(MinresBegin<C>{});
    case ScalarStep::minres_lanczos: return f(MinresLanczos<C>{});
    case ScalarStep::minres_rotate: return f(MinresRotate<C>{});
    case ScalarStep::minres_outcome: return f(MinresOutcome<C>{});
  }
}

}  // namespace blockjacobi::detail
