#pragma once

#include <blockjacobi/export.hpp>

namespace blockjacobi {

/// Why a solve ended. One list for every solver and interface.
enum class StopReason : int {
  converged = 1,              ///< SolveReport::true_residual <= rtol ||b|| (or ||b - A x0||, or atol)
  max_iterations,             ///< the limit was reached first
  breakdown,                  ///< a denominator of the recurrence is exactly zero
  indefinite_matrix,          ///< CG: p^H A p < 0
  indefinite_preconditioner,  ///< CG: r^H M^-1 r < 0; MINRES the same of a Lanczos vector
  nan_or_inf,                 ///< a residual or scalar is not finite
  stagnation,                 ///< the recurrence claims what b - A x does not show; MINRES: A r is 0, r is not
  time_limit,                 ///< SolveOptions::max_seconds
  user_stop,                  ///< the progress callback returned false
  singular_block              ///< the preconditioner has singular blocks under SingularPolicy::fail
};

[[nodiscard]] BLOCKJACOBI_EXPORT const char* to_string(StopReason reason) noexcept;

}  // namespace blockjacobi
