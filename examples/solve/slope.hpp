#pragma once

#include <span>

namespace solve {

struct Point {
  double x, y;
};

/// Of the straight line that fits the points best; NaN where there is none.
inline double slope(std::span<const Point> points) {
  const auto count = static_cast<double>(points.size());
  double mean_x = 0.0, mean_y = 0.0;
  for (const Point& point : points) {
    mean_x += point.x / count;
    mean_y += point.y / count;
  }
  double squares = 0.0, products = 0.0;
  for (const Point& point : points) {
    squares += (point.x - mean_x) * (point.x - mean_x);
    products += (point.x - mean_x) * (point.y - mean_y);
  }
  return products / squares;
}

}  // namespace solve
