#include "matrices/generators/hexahedron_stiffness.hpp"

#include <cmath>
#include <cstddef>

namespace blockjacobi::matrices::detail {

namespace {

using Point = std::array<double, 3>;
using Gradients = std::array<Point, 8>;

/// Gradients of the eight shape functions at a point of [0, 1]^3.
Gradients shape_gradients(const Point& at, const Point& spacing) {
  Gradients gradients;
  for (std::size_t corner = 0; corner < 8; ++corner) {
    Point value, slope;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const bool high = (corner >> axis) & 1U;
      value[axis] = high ? at[axis] : 1.0 - at[axis];
      slope[axis] = (high ? 1.0 : -1.0) / spacing[axis];
    }
    gradients[corner] = {slope[0] * value[1] * value[2], value[0] * slope[1] * value[2],
                         value[0] * value[1] * slope[2]};
  }
  return gradients;
}

/// Strain energy density of unit displacements c of corner a and d of corner b, with Lame's constants.
double energy(const Gradients& g, std::size_t a, std::size_t c, std::size_t b, std::size_t d, double lambda,
              double mu) {
  double density = lambda * g[a][c] * g[b][d] + mu * g[a][d] * g[b][c];
  if (c == d) density += mu * (g[a][0] * g[b][0] + g[a][1] * g[b][1] + g[a][2] * g[b][2]);
  return density;
}

void add_upper_triangle(HexahedronStiffness& stiffness, const Gradients& g, double weight, double lambda, double mu) {
  for (std::size_t row = 0; row < 24; ++row)
    for (std::size_t col = row; col < 24; ++col)
      stiffness[24 * row + col] += weight * energy(g, row / 3, row % 3, col / 3, col % 3, lambda, mu);
}

}  // namespace

HexahedronStiffness hexahedron_stiffness(const std::array<double, 3>& spacing, double poisson) {
  const double lambda = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
  const double mu = 0.5 / (1.0 + poisson);
  const double offset = 0.5 / std::sqrt(3.0);
  const std::array<double, 2> points = {0.5 - offset, 0.5 + offset};
  const double weight = spacing[0] * spacing[1] * spacing[2] / 8.0;

  HexahedronStiffness stiffness{};
  for (const double z : points)
    for (const double y : points)
      for (const double x : points)
        add_upper_triangle(stiffness, shape_gradients({x, y, z}, spacing), weight, lambda, mu);
  for (std::size_t row = 0; row < 24; ++row)
    for (std::size_t col = 0; col < row; ++col) stiffness[24 * row + col] = stiffness[24 * col + row];
  return stiffness;
}

}  // namespace blockjacobi::matrices::detail
