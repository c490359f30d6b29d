#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include "matrices/generators/grid.hpp"

namespace blockjacobi::matrices {

/// Velocity field on [-1, 1]^d, at most 1 fast.
enum class Wind {
  recirculating,  ///< (y (1 - x^2), -x (1 - y^2), 0): a vortex that no boundary is crossed by
  constant        ///< (1, ..., 1) / sqrt(d)
};

struct ConvectionDiffusionOptions {
  GridSize grid = {16, 16, 1};  ///< interior points; at least two along x and y
  double peclet = 100.0;        ///< speed times the length of the domain over the diffusion, >= 0
  Wind wind = Wind::recirculating;
};

/// -div grad u + (peclet / 2) w . grad u on [-1, 1]^2 or [-1, 1]^3 with homogeneous Dirichlet values: central
/// differences for diffusion, first-order upwind differences for convection, 5 or 7 points, times the square of the
/// smallest mesh width. Nonsymmetric for peclet > 0, an M-matrix: positive diagonal, the rest <= 0, row sums >= 0.
/// Real, whatever the scalar. Throws InvalidArgument for options out of range or more than 2^31 - 1 rows.
template <Scalar T>
[[nodiscard]] CsrMatrix<T> convection_diffusion(const ConvectionDiffusionOptions& options);

}  // namespace blockjacobi::matrices
