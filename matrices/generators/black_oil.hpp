#pragma once

#include <array>
#include <cstddef>

namespace blockjacobi::matrices::detail {

enum Component : std::size_t { oil, water, gas };

struct CellState {
  double pressure = 0.0;  ///< Pa
  double water = 0.0;     ///< saturation
  double gas = 0.0;       ///< saturation
};

/// A quantity of each component with its derivatives by pressure, water and gas saturation.
struct ComponentValues {
  std::array<double, 3> value;
  std::array<std::array<double, 3>, 3> derivative;  ///< [component][unknown]
};

/// Surface volume of each component in a unit of pore volume.
ComponentValues stored_volume(const CellState& state);

/// Surface volume of each component that flows per unit of transmissibility and pressure drop.
ComponentValues mobility(const CellState& state);

}  // namespace blockjacobi::matrices::detail
