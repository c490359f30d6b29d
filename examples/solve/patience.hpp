#pragma once

#include "slope.hpp"

#include <blockjacobi/solver.hpp>

#include <vector>

namespace solve {

/// Watches a solve whose iterations were predicted, and says when it is not worth waiting for.
class Patience {
 public:
  /// Lasts for several times the predicted iterations, whatever the residual does.
  explicit Patience(double predicted_iterations);

  /// Asked as often as the solver tells, of one column after another. False once the residual, going on as it goes,
  /// would reach its target only after several times the iterations that were taken.
  bool lasts(const blockjacobi::SolveProgress& progress);

 private:
  double first_, next_;
  std::vector<Point> points_;  ///< logarithms of the residuals of this column
};

}  // namespace solve
