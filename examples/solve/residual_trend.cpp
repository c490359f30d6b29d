#include "residual_trend.hpp"

#include "slope.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace solve {

Trend trend_of(std::span<const double> history, double target) {
  // Whoever would wait for more iterations than that had better change something.
  constexpr double most_times_as_many = 20.0, always_few = 1000.0;
  constexpr double least_growth = 2.0;  // less is the way in which residuals that hold go up and down
  if (history.size() < 2) return Trend::holds;
  const std::size_t iterations = history.size() - 1;
  std::vector<Point> points;
  for (std::size_t i = iterations / 2; i < history.size(); ++i)
    if (history[i] > 0.0 && std::isfinite(history[i])) points.push_back({static_cast<double>(i), std::log(history[i])});
  if (points.size() < 2) return Trend::holds;
  const double rate = slope(points);
  if (rate * (points.back().x - points.front().x) > std::log(least_growth)) return Trend::grows;
  const double way = std::max(0.0, points.back().y - std::log(target));
  const double most = std::max(most_times_as_many * static_cast<double>(iterations), always_few);
  return rate < 0.0 && -rate * most >= way ? Trend::falls : Trend::holds;
}

}  // namespace solve
