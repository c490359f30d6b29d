#include "patience.hpp"

#include <algorithm>
#include <cmath>

namespace solve {

namespace {

constexpr double times_the_prediction = 4.0, always = 100.0;
/// Of the iterations that were taken: what is left may take so many more.
constexpr double most_left = 2.0;

}  // namespace

Patience::Patience(double predicted_iterations)
    : first_(std::max(always, std::isfinite(predicted_iterations) ? times_the_prediction * predicted_iterations : 0.0)),
      next_(first_) {}

bool Patience::lasts(const blockjacobi::SolveProgress& progress) {
  const auto iteration = static_cast<double>(progress.iteration);
  if (!points_.empty() && iteration <= points_.back().x) {  // the next column
    points_.clear();
    next_ = first_;
  }
  if (progress.residual > 0.0 && std::isfinite(progress.residual))
    points_.push_back({iteration, std::log(progress.residual)});
  if (iteration < next_ || points_.size() < 4) return true;
  next_ = 2.0 * iteration;
  const auto late =
      std::ranges::find_if(points_, [&](const Point& point) { return point.x >= points_.back().x / 2.0; });
  const double way = points_.back().y - std::log(progress.target), rate = -slope({late, points_.end()});
  return way <= 0.0 || rate * most_left * iteration >= way;
}

}  // namespace solve
