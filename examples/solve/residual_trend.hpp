#pragma once

#include <span>

namespace solve {

/// Where the residuals of a solve that did not converge were going.
enum class Trend {
  falls,  ///< more iterations may do
  holds,  ///< it would take very many more, or nothing is known
  grows
};

/// `history`: ||r|| before and after each iteration. log ||r|| is taken to go on as the straight line that fits the
/// second half of the iterations best, since CG and GMRES often begin with a plateau.
Trend trend_of(std::span<const double> history, double target);

}  // namespace solve
