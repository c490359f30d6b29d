#pragma once

#include <blockjacobi/stop_reason.hpp>
#include <blockjacobi/types.hpp>

namespace blockjacobi {

/// Outcome of an enqueued solve, in the backend's memory; plain data, so that a user's own kernels may read it.
struct SolveStatus {
  StopReason reason = StopReason::max_iterations;
  index_t iterations = 0;
  double rhs_norm = 0.0;             ///< ||b||
  double initial_residual = 0.0;     ///< ||b - A x0||
  double target = 0.0;               ///< ||r|| that ends the solve
  double recurrence_residual = 0.0;  ///< ||r|| as the recurrence has it at the end
  double true_residual = 0.0;        ///< as SolveReport::true_residual
};

}  // namespace blockjacobi
