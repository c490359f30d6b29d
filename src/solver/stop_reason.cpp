#include <blockjacobi/stop_reason.hpp>

namespace blockjacobi {

const char* to_string(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::converged: return "converged";
    case StopReason::max_iterations: return "max_iterations";
    case StopReason::breakdown: return "breakdown";
    case StopReason::indefinite_matrix: return "indefinite_matrix";
    case StopReason::indefinite_preconditioner: return "indefinite_preconditioner";
    case StopReason::nan_or_inf: return "nan_or_inf";
    case StopReason::stagnation: return "stagnation";
    case StopReason::time_limit: return "time_limit";
    case StopReason::user_stop: return "user_stop";
    case StopReason::singular_block: return "singular_block";
  }
  return "unknown";
}

}  // namespace blockjacobi
