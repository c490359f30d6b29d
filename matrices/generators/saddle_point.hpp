#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include "matrices/generators/grid.hpp"

namespace blockjacobi::matrices {

enum class SaddlePointOrder {
  fields,  ///< all u, all v, all p: the lower right block is zero
  cells    ///< u, v, p of cell after cell: natural blocks of 3, shorter along two walls
};

struct SaddlePointOptions {
  index_t nx = 16;         ///< cells, >= 2
  index_t ny = 16;         ///< cells, >= 2
  double viscosity = 1.0;  ///< > 0
  SaddlePointOrder order = SaddlePointOrder::fields;
};

/// Stokes flow in a closed box on a staggered (MAC) grid of unit cells: [A B^T; B 0] with the 5-point vector Laplacian
/// A, no slip at the walls, and minus the divergence B. The pressure of the last cell is left out, so that the matrix
/// is regular. Symmetric indefinite; the diagonal entries of the pressures are not stored.
/// (nx - 1) ny + nx (ny - 1) + nx ny - 1 rows. Scalars float and double. Throws InvalidArgument for options out of
/// range or more than 2^31 - 1 rows.
template <Scalar T>
[[nodiscard]] CsrMatrix<T> saddle_point(const SaddlePointOptions& options);

}  // namespace blockjacobi::matrices
