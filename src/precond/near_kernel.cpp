#include <blockjacobi/near_kernel.hpp>

#include "core/message.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace blockjacobi {

namespace {

constexpr int max_dimension = 3;

void require_coordinates(std::span<const double> coordinates, int dimension) {
  if (dimension != 2 && dimension != max_dimension)
    throw InvalidArgument(detail::message("rigid_body_modes: dimension is {}, must be 2 or 3", dimension));
  if (coordinates.size() % static_cast<std::size_t>(dimension) != 0)
    throw InvalidArgument(detail::message("rigid_body_modes: there are {} coordinates, must be a multiple of {}",
                                          coordinates.size(), dimension));
  if (coordinates.size() > static_cast<std::size_t>(std::numeric_limits<index_t>::max()))
    throw InvalidArgument(detail::message("rigid_body_modes: there are {} coordinates, can be {}", coordinates.size(),
                                          std::numeric_limits<index_t>::max()));
  for (std::size_t i = 0; i < coordinates.size(); ++i)
    if (!std::isfinite(coordinates[i]))
      throw InvalidArgument(detail::message("rigid_body_modes: coordinate {} is NaN or Inf", i));
}

/// Two coordinates; the rotation in their plane moves (a, b) by (-b, a).
struct Plane {
  int a, b;
};
constexpr std::array<Plane, 3> planes{{{0, 1}, {1, 2}, {2, 0}}};

}  // namespace

template <Scalar T>
NearKernel<T> rigid_body_modes(std::span<const double> coordinates, int dimension) {
  require_coordinates(coordinates, dimension);
  const std::size_t rows = coordinates.size(), d = static_cast<std::size_t>(dimension), nodes = rows / d;
  std::array<double, max_dimension> mean{};
  for (std::size_t i = 0; i < rows; ++i) mean[i % d] += coordinates[i] / static_cast<double>(nodes);

  const std::size_t rotations = dimension == 2 ? 1 : 3;
  NearKernel<T> modes{static_cast<index_t>(rows), static_cast<index_t>(d + rotations), {}};
  modes.values.resize(rows * (d + rotations));
  const auto number = [](double value) { return T(static_cast<real_t<T>>(value)); };
  for (std::size_t k = 0; k < nodes; ++k) {
    const auto from_mean = [&](int c) {
      return coordinates[k * d + static_cast<std::size_t>(c)] - mean[static_cast<std::size_t>(c)];
    };
    T* const node = modes.values.data() + k * d;
    for (std::size_t c = 0; c < d; ++c) node[c * rows + c] = T(1);
    for (std::size_t r = 0; r < rotations; ++r) {
      T* const column = node + (d + r) * rows;
      column[planes[r].a] = number(-from_mean(planes[r].b));
      column[planes[r].b] = number(from_mean(planes[r].a));
    }
  }
  return modes;
}

template NearKernel<float> rigid_body_modes(std::span<const double>, int);
template NearKernel<double> rigid_body_modes(std::span<const double>, int);
template NearKernel<std::complex<float>> rigid_body_modes(std::span<const double>, int);
template NearKernel<std::complex<double>> rigid_body_modes(std::span<const double>, int);

}  // namespace blockjacobi
