#include "advice.hpp"

#include "residual_trend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace solve {

using blockjacobi::StopReason;

namespace {

/// What may help where more iterations will not. --compare has tried the blocks and coarse levels already.
std::string other_ways(Solver solver, const Options& options) {
  std::vector<std::string_view> ways;
  if (solver == Solver::richardson) ways.push_back("a smaller --relaxation");
  if (traits(solver).restarts) ways.push_back("a larger --restart");
  ways.push_back(traits(solver).restarts ? "--solver bicgstab" : "--solver gmres");
  if (options.compare) return fmt::format("{}", fmt::join(ways, " or "));
  ways.push_back(options.coarse == Coarse::none ? "other --blocks or --coarse ones (--compare tries them)"
                                                : "other --blocks (--compare tries them)");
  return fmt::format("{}", fmt::join(ways, ", "));
}

std::string after_limit(const char* limit, Trend trend, Solver solver, const Options& options) {
  switch (trend) {
    case Trend::falls:
      if (options.compare) return fmt::format("; the residual was still falling: raise {}", limit);
      return fmt::format("; the residual was still falling: raise {} or try other --blocks", limit);
    case Trend::holds: return fmt::format("; the residual hardly falls: try {}", other_ways(solver, options));
    case Trend::grows: return fmt::format("; the residual grows: try {}", other_ways(solver, options));
  }
  return "";
}

}  // namespace

std::string advice(const blockjacobi::SolveReport& report, Solver solver, const Options& options) {
  const Trend trend = trend_of(report.history, options.rtol * report.rhs_norm);
  switch (report.reason) {
    case StopReason::max_iterations: return after_limit("--max-iterations", trend, solver, options);
    case StopReason::time_limit: return after_limit("--max-seconds", trend, solver, options);
    case StopReason::indefinite_matrix: return "; this solver needs a positive definite matrix, try --solver gmres";
    case StopReason::indefinite_preconditioner:
      return "; the preconditioner is not positive definite, try --solver gmres or another --block-size";
    case StopReason::breakdown:
      return traits(solver).restarts ? "; try another --restart or --block-size" : "; try --solver gmres";
    case StopReason::stagnation: return "; the accuracy that --rtol asks for is out of reach in this --scalar";
    case StopReason::nan_or_inf:
      if (trend == Trend::grows)
        return fmt::format("; the residual grew past the range of this --scalar: try {}", other_ways(solver, options));
      return "; the numbers left the range of this --scalar, the solution is not usable";
    default: return "";
  }
}

}  // namespace solve
