#include "matrices/generators/black_oil.hpp"

namespace blockjacobi::matrices::detail {

namespace {

/// With its derivatives by the three unknowns.
struct Value {
  double value = 0.0;
  std::array<double, 3> derivative = {0.0, 0.0, 0.0};
};

Value operator*(const Value& a, const Value& b) {
  Value product{a.value * b.value, {}};
  for (std::size_t u = 0; u < 3; ++u) product.derivative[u] = a.derivative[u] * b.value + a.value * b.derivative[u];
  return product;
}

Value operator+(const Value& a, const Value& b) {
  Value sum{a.value + b.value, {}};
  for (std::size_t u = 0; u < 3; ++u) sum.derivative[u] = a.derivative[u] + b.derivative[u];
  return sum;
}

Value operator/(const Value& a, double b) {
  return {a.value / b, {a.derivative[0] / b, a.derivative[1] / b, a.derivative[2] / b}};
}

constexpr double reference_pressure = 200e5;
constexpr double oil_viscosity = 1e-3, water_viscosity = 0.5e-3, gas_viscosity = 2e-5;  // Pa s

/// level (1 + slope (p - reference)).
Value linear_in_pressure(double level, double slope, double pressure) {
  return {level * (1.0 + slope * (pressure - reference_pressure)), {level * slope, 0.0, 0.0}};
}

struct Fluids {
  explicit Fluids(const CellState& s)
      : oil_saturation{1.0 - s.water - s.gas, {0.0, -1.0, -1.0}},
        water_saturation{s.water, {0.0, 1.0, 0.0}},
        gas_saturation{s.gas, {0.0, 0.0, 1.0}},
        oil_density(linear_in_pressure(0.8, 1.5e-9, s.pressure)),
        water_density(linear_in_pressure(0.98, 4.5e-10, s.pressure)),
        gas_density(linear_in_pressure(200.0, 5e-8, s.pressure)),
        dissolved_gas(linear_in_pressure(90.0, 4e-8, s.pressure)) {}

  Value oil_saturation, water_saturation, gas_saturation;
  Value oil_density, water_density, gas_density;  ///< surface volume in a unit of reservoir volume
  Value dissolved_gas;                            ///< surface volume in a unit of surface volume of oil
};

/// The gas component is free gas and what the oil holds.
ComponentValues components(const Value& oil_phase, const Value& water_phase, const Value& gas_phase,
                           const Value& dissolved_gas) {
  const Value gas_component = gas_phase + dissolved_gas * oil_phase;
  return {{oil_phase.value, water_phase.value, gas_component.value},
          {oil_phase.derivative, water_phase.derivative, gas_component.derivative}};
}

}  // namespace

ComponentValues stored_volume(const CellState& state) {
  const Fluids f(state);
  return components(f.oil_density * f.oil_saturation, f.water_density * f.water_saturation,
                    f.gas_density * f.gas_saturation, f.dissolved_gas);
}

ComponentValues mobility(const CellState& state) {
  const Fluids f(state);
  return components(f.oil_density * (f.oil_saturation * f.oil_saturation) / oil_viscosity,
                    f.water_density * (f.water_saturation * f.water_saturation) / water_viscosity,
                    f.gas_density * (f.gas_saturation * f.gas_saturation) / gas_viscosity, f.dissolved_gas);
}

}  // namespace blockjacobi::matrices::detail
