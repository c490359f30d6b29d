#pragma once

#include <array>

namespace blockjacobi::matrices::detail {

/// 24 x 24, row-major; displacement c of corner (x, y, z) in {0, 1}^3 has number 3 (x + 2 y + 4 z) + c.
using HexahedronStiffness = std::array<double, 24 * 24>;

/// Stiffness of a trilinear hexahedron of Young's modulus 1, exactly symmetric.
HexahedronStiffness hexahedron_stiffness(const std::array<double, 3>& spacing, double poisson);

}  // namespace blockjacobi::matrices::detail
