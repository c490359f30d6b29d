#include "matrices/generators/convection_diffusion.hpp"

#include "matrices/generators/csr_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstddef>

namespace blockjacobi::matrices {

namespace {

using detail::Grid;
using detail::GridPoint;

constexpr const char* generator = "convection_diffusion";

using Vector = std::array<double, 3>;

class ConvectionDiffusion {
 public:
  ConvectionDiffusion(const Grid& grid, const ConvectionDiffusionOptions& options)
      : grid_(grid), wind_(options.wind), speed_(0.5 * options.peclet) {
    const std::array<index_t, 3> points = {grid.size().nx, grid.size().ny, grid.size().nz};
    double finest = 2.0;
    for (std::size_t a = 0; a < 3; ++a) {
      width_[a] = 2.0 / (points[a] + 1.0);
      if (grid.axes()[a]) {
        ++dimension_;
        finest = std::min(finest, width_[a]);
      }
    }
    scale_ = finest * finest;
  }

  index_t count(index_t row) const {
    const GridPoint here = grid_.point(row);
    index_t entries = 1;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (grid_.axes()[axis])
        for (const index_t direction : {-1, 1}) entries += grid_.contains(here + step(axis, direction));
    return entries;
  }

  template <Scalar T>
  void fill(index_t row, detail::RowWriter<T>& writer) const {
    const GridPoint here = grid_.point(row);
    const Vector w = wind_at(here);
    double diagonal = 0.0;
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (grid_.axes()[axis]) diagonal += weight(axis, -1, w) + weight(axis, 1, w);
    for (std::size_t axis = 3; axis-- > 0;) push(here, axis, -1, w, writer);
    writer.push(row, static_cast<T>(diagonal));
    for (std::size_t axis = 0; axis < 3; ++axis) push(here, axis, 1, w, writer);
  }

 private:
  static GridPoint step(std::size_t axis, index_t direction) {
    GridPoint by;
    (axis == 0 ? by.x : axis == 1 ? by.y : by.z) = direction;
    return by;
  }

  Vector wind_at(const GridPoint& here) const {
    if (wind_ == Wind::constant) {
      const double component = 1.0 / std::sqrt(static_cast<double>(dimension_));
      return {component, component, component};
    }
    const double x = (here.x + 1) * width_[0] - 1.0;
    const double y = (here.y + 1) * width_[1] - 1.0;
    return {y * (1.0 - x * x), -x * (1.0 - y * y), 0.0};
  }

  /// Minus the coefficient of the neighbour: diffusion, and convection if the wind blows from there.
  double weight(std::size_t axis, index_t direction, const Vector& w) const {
    const double from_there = std::max(0.0, -direction * w[axis]);
    return scale_ * (1.0 / (width_[axis] * width_[axis]) + speed_ * from_there / width_[axis]);
  }

  template <Scalar T>
  void push(const GridPoint& here, std::size_t axis, index_t direction, const Vector& w,
            detail::RowWriter<T>& writer) const {
    const GridPoint there = here + step(axis, direction);
    if (!grid_.axes()[axis] || !grid_.contains(there)) return;
    writer.push(grid_.number(there), static_cast<T>(-weight(axis, direction, w)));
  }

  Grid grid_;
  Wind wind_;
  double speed_;
  double scale_ = 1.0;
  int dimension_ = 0;
  Vector width_;
};

}  // namespace

template <Scalar T>
CsrMatrix<T> convection_diffusion(const ConvectionDiffusionOptions& options) {
  detail::require_at_least(generator, "nx", options.grid.nx, 2);
  detail::require_at_least(generator, "ny", options.grid.ny, 2);
  detail::require_at_least(generator, "peclet", options.peclet, 0.0);
  const Grid grid(generator, options.grid, 1);
  const ConvectionDiffusion rows(grid, options);
  return detail::build_rows<T>(
      grid.points(), [&](index_t row) { return rows.count(row); },
      [&](index_t row, detail::RowWriter<T>& writer) { rows.fill(row, writer); });
}

template CsrMatrix<float> convection_diffusion(const ConvectionDiffusionOptions&);
template CsrMatrix<double> convection_diffusion(const ConvectionDiffusionOptions&);
template CsrMatrix<std::complex<float>> convection_diffusion(const ConvectionDiffusionOptions&);
template CsrMatrix<std::complex<double>> convection_diffusion(const ConvectionDiffusionOptions&);

}  // namespace blockjacobi::matrices
