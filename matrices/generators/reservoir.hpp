#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include "matrices/generators/grid.hpp"

#include <array>
#include <cstdint>

namespace blockjacobi::matrices {

struct ReservoirOptions {
  GridSize cells = {10, 10, 3};
  /// >= 1. Permeabilities are drawn log-uniformly from 100 millidarcy times [contrast^-1/2, contrast^1/2).
  double contrast = 100.0;
  double vertical_ratio = 0.1;  ///< vertical over horizontal permeability, > 0
  double time_step_days = 1.0;  ///< > 0; short steps make the diagonal blocks dominate
  index_t wells = 0;            ///< vertical producers through all layers, at most one a column of cells
  std::array<double, 3> equation_scale = {1.0, 1.0, 1.0};  ///< factors of the oil, water, gas rows, > 0
  std::uint64_t seed = 1;
};

/// Jacobian of the fully implicit oil, water and gas balances of a black-oil model in SI units: two-point fluxes,
/// upstream mobilities (quadratic relative permeabilities), dissolved gas, linearized about a random state. Cell i has
/// the rows 3 i .. 3 i + 2 (oil, water, gas) and the unknowns pressure, water and gas saturation; neighbouring cells
/// are coupled by full 3 x 3 blocks with stored zeros. Pressure columns are about 1e-7 of the saturation columns, and
/// gas rows about 200 times the others. Well w adds row 3 cells + w: its total rate, with the unknown bottom-hole
/// pressure, coupled to all cells that it goes through. Nonsymmetric.
/// Scalars float and double. Throws InvalidArgument for options out of range or more than 2^31 - 1 rows.
template <Scalar T>
[[nodiscard]] CsrMatrix<T> reservoir(const ReservoirOptions& options);

}  // namespace blockjacobi::matrices
