#pragma once

#include <blockjacobi/solver.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace solve {

/// How far a solve is and how long it will take yet, from its residuals: log ||r|| is taken to go on as the straight
/// line that fits the second half of the iterations best.
class ProgressEstimate {
 public:
  /// `seconds` since the solve began. Iterations must not go back.
  void add(const blockjacobi::SolveProgress& progress, double seconds);

  /// Part of the way from the first log ||r|| to that of the target, in [0, 1].
  double share_done() const;
  /// None before there are a few residuals, and where the residual does not fall.
  std::optional<double> seconds_left() const;

 private:
  struct Sample {
    double iteration, log_residual, seconds;
  };
  double log_target_ = 0.0;
  std::vector<Sample> samples_;  ///< some hundreds at most, spread over all iterations
  std::size_t stride_ = 1;       ///< of the residuals that are kept
  std::size_t seen_ = 0;
  std::optional<Sample> last_;
};

}  // namespace solve
