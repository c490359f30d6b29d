#pragma once

#include "core/message.hpp"
#include "core/shared/gmres_recurrence.hpp"

#include <blockjacobi/error.hpp>
#include <blockjacobi/solver.hpp>

#include <algorithm>

namespace blockjacobi::detail {

/// What a basis in single precision lets a cycle reduce the residual by.
inline constexpr double gmres_low_reduction = 1e-6;

inline void require_restart(const char* solver, const SolveOptions& options) {
  if (options.restart < 1) throw InvalidArgument(message("{}: restart is {}, must be >= 1", solver, options.restart));
}

/// A cycle is never longer than the system or the limit; what a user asks for beyond that would only cost memory.
inline int gmres_restart(const SolveOptions& options, index_t rows) {
  return std::max(1, std::min({options.restart, options.max_iterations, rows}));
}

/// Scalars of the small arrays of a cycle of m iterations, beside m cosines.
constexpr std::size_t gmres_small_size(std::size_t m) { return (m + 1) * m + 3 * (m + 1) + m; }

template <class C>
GmresSmall<C> gmres_divide(C* small, double* cosines, int restart) {
  const auto m = static_cast<std::size_t>(restart);
  C* h2 = small + (m + 1) * m;
  C* sn = h2 + m + 1;
  C* g = sn + m + 1;
  C* y = g + m + 1;
  return {small, h2, cosines, sn, g, y, restart};
}

}  // namespace blockjacobi::detail
