#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include "matrices/generators/grid.hpp"

#include <array>
#include <cstdint>

namespace blockjacobi::matrices {

enum class StencilShape {
  star,  ///< neighbours along the axes: 3, 5 or 7 points
  box    ///< diagonal neighbours too: 3, 9 or 27 points
};

struct StencilOptions {
  GridSize grid = {16, 16, 1};
  StencilShape shape = StencilShape::star;
  /// Diffusion along x, y, z, > 0. A diagonal step has the mean of the axes in which it goes.
  std::array<double, 3> anisotropy = {1.0, 1.0, 1.0};
  /// >= 1. Each cell has a coefficient drawn log-uniformly from [1, contrast); a step between two cells has their
  /// harmonic mean.
  double contrast = 1.0;
  /// Unknowns a node, 1..6.
  index_t unknowns = 1;
  /// s in [0, 1): the unknowns of a node are coupled by C = (1 - s) I + s v v^H, where ||v|| = 1 and |v_p| are equal.
  double coupling = 0.5;
  /// Complex scalars: the angle of the coupling phases is 2 atan(phase). A step in x at height y turns by y times
  /// twice that angle (the Laplacian of a particle in a magnetic field), v_p by p times it.
  double phase = 0.25;
  /// Added to the diagonal; SPD is kept for shift >= 0.
  double shift = 0.0;
  /// Complex scalars: i * shift_imaginary is added to the diagonal, which is then no more Hermitian.
  double shift_imaginary = 0.0;
  std::uint64_t seed = 1;
};

/// Diffusion on a grid with homogeneous Dirichlet values around it: L (x) C with the graph Laplacian L of the stencil,
/// whose rows at the boundary keep the weight of the steps that leave the grid. With default options the rows read 4
/// and -1 (5 points), 8 and -1 (9), 6 and -1 (7), 26 and -1 (27). Symmetric, for complex scalars Hermitian, positive
/// definite. Unknown p of node i is row i * unknowns + p; all couplings between two nodes are stored, so that the
/// unknowns of a node are a supervariable.
/// Throws InvalidArgument for options out of range or more than 2^31 - 1 rows.
template <Scalar T>
[[nodiscard]] CsrMatrix<T> stencil(const StencilOptions& options);

}  // namespace blockjacobi::matrices
