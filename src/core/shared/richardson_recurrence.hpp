#pragma once

#include "core/shared/solve_control.hpp"

namespace blockjacobi::detail {

/// Scalars of damped Richardson iteration, in backend memory.
struct RichardsonState : SolveControl {
  double rr;          ///< ||b - A x||^2
  double relaxation;  ///< omega in x += omega M^-1 r
  int fresh;          ///< 1: no step was taken yet
};

inline RichardsonState richardson_initial_state(double target, int max_iterations, double relaxation) {
  RichardsonState s{};
  s.target = target;
  s.max_iterations = max_iterations;
  s.relaxation = relaxation;
  s.fresh = 1;
  return s;
}

/// After r = b - A x and rr: the outcome of the iteration.
BLOCKJACOBI_HD inline void richardson_outcome(RichardsonState& s) {
  if (s.stop != 0) return;
  end_iteration(s, s.fresh != 0, s.rr, true);
  s.fresh = 0;
}

}  // namespace blockjacobi::detail
