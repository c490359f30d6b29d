#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include "matrices/generators/grid.hpp"

#include <array>
#include <cstdint>

namespace blockjacobi::matrices {

struct ElasticityOptions {
  /// Hexahedral elements along each axis; here one element is an axis like any other.
  GridSize elements = {8, 8, 8};
  /// Edge lengths of an element, > 0.
  std::array<double, 3> spacing = {1.0, 1.0, 1.0};
  double young = 1.0;    ///< E > 0
  double poisson = 0.3;  ///< nu in [0, 0.5)
  /// >= 1. The modulus of each element is young times a number drawn log-uniformly from [1, contrast).
  double contrast = 1.0;
  /// Complex scalars: eta in the complex modulus E (1 + i eta) of a damped structure; the matrix is complex symmetric.
  double loss_factor = 0.0;
  std::uint64_t seed = 1;
};

/// Stiffness matrix of linear elasticity with trilinear hexahedra, integrated by 2 x 2 x 2 Gauss points, clamped at the
/// face x = 0. Three displacements a node, stored as full 3 x 3 blocks, in rows 3 i .. 3 i + 2; nx (ny + 1) (nz + 1)
/// nodes, x fastest. Symmetric, positive definite if real.
/// Throws InvalidArgument for options out of range or more than 2^31 - 1 rows.
template <Scalar T>
[[nodiscard]] CsrMatrix<T> elasticity(const ElasticityOptions& options);

}  // namespace blockjacobi::matrices
