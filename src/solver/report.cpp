#include <blockjacobi/solver.hpp>

#include <fmt/format.h>

namespace blockjacobi {

std::string to_text(const SolveReport& r) {
  return fmt::format("{} after {} iteration{}: ||b - A x|| = {:.3e}, {:.3e} of ||b|| (recurrence {:.3e}), {:.3f} s",
                     to_string(r.reason), r.iterations, r.iterations == 1 ? "" : "s", r.true_residual,
                     r.relative_residual(), r.recurrence_residual, r.seconds);
}

}  // namespace blockjacobi
