#include "core/message.hpp"

#include <blockjacobi/solver.hpp>

namespace blockjacobi {

std::string to_text(const SolveReport& r) {
  return detail::message(
      "{} after {} iteration{}: ||b - A x|| = {:.3e}, {:.3e} of ||b|| (recurrence {:.3e}, gap {:.1e} of ||b||), {:.3f} "
      "s",
      to_string(r.reason), r.iterations, r.iterations == 1 ? "" : "s", r.true_residual, r.relative_residual(),
      r.recurrence_residual, r.residual_gap(), r.seconds);
}

}  // namespace blockjacobi
