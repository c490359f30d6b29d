#include "patience.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace solve {

namespace {

constexpr double times_the_prediction = 4.0, always = 100.0;
/// Of the iterations that were taken: what is left may take so many more. Together sixteen times what was predicted,
/// for which larger blocks, whose iterations cost more, are worth it.
constexpr double most_left = 3.0;
constexpr std::ptrdiff_t fewest_points = 4;

}  // namespace

Patience::Patience(double predicted_iterations, blockjacobi::index_t max_iterations, double max_seconds)
    : first_(std::max(always, std::isfinite(predicted_iterations) ? times_the_prediction * predicted_iterations : 0.0)),
      next_(first_),
      last_(max_iterations / 2.0),
      last_second_(max_seconds > 0.0 ? max_seconds / 2.0 : std::numeric_limits<double>::infinity()) {}

void Patience::begin_column() {
  points_.clear();
  next_ = first_;
}

bool Patience::lasts(const blockjacobi::SolveProgress& progress) {
  const auto iteration = static_cast<double>(progress.iteration);
  if (progress.residual > 0.0 && std::isfinite(progress.residual))
    points_.push_back({iteration, std::log(progress.residual)});
  if (iteration < next_ || iteration > last_) return true;
  if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count() > last_second_) return true;
  const auto late = std::ranges::find_if(points_, [&](const Point& point) { return point.x >= iteration / 2.0; });
  if (points_.end() - late < fewest_points) return true;
  next_ = 2.0 * iteration;
  const double way = points_.back().y - std::log(progress.target), rate = -slope({late, points_.end()});
  return way <= 0.0 || rate * most_left * iteration >= way;
}

}  // namespace solve
