#pragma once

#include "slope.hpp"

#include <blockjacobi/solver.hpp>

#include <chrono>
#include <vector>

namespace solve {

/// Watches a solve whose iterations were predicted, and says when it is not worth waiting for. Of solvers that restart:
/// these stagnate, where others may fall late.
class Patience {
 public:
  /// Lasts for several times the predicted iterations, whatever the residual does, and for good from half of the limits
  /// on: what comes next shall have as much. 0 seconds are no limit.
  Patience(double predicted_iterations, blockjacobi::index_t max_iterations, double max_seconds = 0.0);

  void begin_column();
  /// Asked as often as the solver tells. False once the residual, going on as it goes, would reach its target only
  /// after several times the iterations that were taken.
  bool lasts(const blockjacobi::SolveProgress& progress);

 private:
  double first_, next_, last_;
  double last_second_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::vector<Point> points_;  ///< logarithms of the residuals of this column
};

}  // namespace solve
