#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/solve_status.hpp>

#include <cmath>
#include <cstddef>

namespace blockjacobi::detail {

/// Residual norms that a state keeps until the host collects them; also the longest batch of iterations between two
/// looks at the stop flag.
inline constexpr int history_capacity = 128;

/// No state is larger, so that a launch can take it along.
inline constexpr std::size_t most_state_bytes = 2048;

/// Squares of norms outside this range, times rtol, would leave the range of double: a sum that underflows to zero
/// would look like convergence.
inline constexpr double smallest_norm = 1e-140;
inline constexpr double largest_norm = 1e140;

/// When a solve counts as converged: ||r|| <= max(rtol reference, atol), the reference being ||b|| or ||b - A x0||.
struct StoppingRule {
  double rtol;
  double atol;
  int relative_to_initial;
  double margin;  ///< the recurrence goes on to so much of that, where nobody can follow up a claim it makes too early
};

/// How a solve stands: the beginning of every solver's state, in backend memory. `stop` is 0 while running, else a
/// StopReason; once it is set every phase changes nothing.
struct SolveControl {
  double rhs_norm;          ///< ||b||
  double initial_residual;  ///< ||b - A x0||
  double goal;              ///< ||b - A x|| that counts as converged
  double target;            ///< ||r|| that ends the recurrence
  double residual;          ///< ||r|| of the recurrence
  int stop;
  int zero_rhs;  ///< b = 0, so that x = 0 is the solution
  int iteration;
  int max_iterations;
  int history_size;
  double history[history_capacity];
};

/// What begin_solve() wants to know of b and r = b - A x0.
struct StartSums {
  double b2;        ///< ||b||^2
  double r2;        ///< ||r||^2
  double nonzeros;  ///< of b; a norm may underflow
};

/// The target, and the end of a solve that needs no iteration.
BLOCKJACOBI_HD inline void begin_solve(SolveControl& s, const StoppingRule& rule, const StartSums& sums, bool failed) {
  s.rhs_norm = sqrt(sums.b2);
  s.initial_residual = sqrt(sums.r2);
  s.residual = s.initial_residual;
  const double relative = rule.rtol * (rule.relative_to_initial != 0 ? s.initial_residual : s.rhs_norm);
  s.goal = relative > rule.atol ? relative : rule.atol;
  s.target = rule.margin * s.goal;
  s.zero_rhs = sums.nonzeros == 0.0 ? 1 : 0;
  if (s.zero_rhs == 0 && !(s.rhs_norm >= smallest_norm && s.rhs_norm <= largest_norm)) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
  } else if (failed) {
    s.stop = static_cast<int>(StopReason::singular_block);
    s.zero_rhs = 0;
  } else if (s.zero_rhs != 0) {  // the solution is known, and no residual is small against ||b|| = 0
    s.stop = static_cast<int>(StopReason::converged);
    s.goal = rule.atol;
    s.residual = 0.0;
  }
}

/// For the host to collect; those that find no room are lost.
BLOCKJACOBI_HD inline void record_residual(SolveControl& s, double residual) {
  s.residual = residual;
  if (s.history_size < history_capacity) s.history[s.history_size++] = residual;
}

/// The end of an iteration with ||r||^2 = rr: counts it and decides whether another one follows. `fresh`: r was just
/// computed from x, there was no iteration. `usable`: the other scalars are finite.
BLOCKJACOBI_HD inline void end_iteration(SolveControl& s, bool fresh, double rr, bool usable) {
  if (!fresh) ++s.iteration;
  const double residual = sqrt(rr);
  if (!fresh || s.iteration == 0) record_residual(s, residual);
  if (!finite(rr) || !usable) {
    s.stop = static_cast<int>(StopReason::nan_or_inf);
  } else if (residual <= s.target) {
    s.stop = static_cast<int>(StopReason::converged);
  } else if (s.iteration >= s.max_iterations) {
    s.stop = static_cast<int>(StopReason::max_iterations);
  }
}

/// Whether a recurrence has scalars to go on with: it runs, or has stopped as converged and may be resumed.
BLOCKJACOBI_HD inline bool may_go_on(const SolveControl& s) {
  return s.stop == 0 || s.stop == static_cast<int>(StopReason::converged);
}

/// What the recomputed ||b - A x|| makes of the reason a solve stopped for.
BLOCKJACOBI_HD inline StopReason final_reason(StopReason reason, double true_residual, double target) {
  if (reason == StopReason::singular_block) return reason;  // of blocks with NaN, too, which b - A x has then as well
  if (!finite(true_residual) || reason == StopReason::nan_or_inf) return StopReason::nan_or_inf;
  if (true_residual <= target) return StopReason::converged;
  return reason == StopReason::converged ? StopReason::stagnation : reason;
}

/// The outcome of a solve that nobody looked at while it ran.
BLOCKJACOBI_HD inline SolveStatus end_solve(const SolveControl& s, double true_residual) {
  SolveStatus status;
  const auto reason = s.stop == 0 ? StopReason::max_iterations : static_cast<StopReason>(s.stop);
  status.reason = final_reason(reason, true_residual, s.goal);
  status.iterations = s.iteration;
  status.rhs_norm = s.rhs_norm;
  status.initial_residual = s.initial_residual;
  status.target = s.goal;
  status.recurrence_residual = s.residual;
  status.true_residual = true_residual;
  return status;
}

}  // namespace blockjacobi::detail
