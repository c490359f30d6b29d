#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace blockjacobi::test {

template <Scalar T>
struct MultigridCase {
  const char* near_kernel;
  std::function<Multigrid<T>()> make;
};

/// Of a matrix with levels of its own below it, one for each near-kernel that there may be.
template <Scalar T>
std::vector<MultigridCase<T>> every_multigrid(const SparseMatrix<T>& matrix) {
  constexpr index_t coarsest = 10;
  const auto blocks = [matrix] { return BlockJacobi<T>(matrix, BlockPartition::uniform(matrix.rows(), 8)); };
  std::vector<double> coordinates;  // of nodes on a curve, two unknowns each
  for (index_t i = 0; i < matrix.rows() / 2; ++i) coordinates.insert(coordinates.end(), {0.1 * i, 1e-4 * i * i});
  const NearKernel<T> modes = rigid_body_modes<T>(coordinates, 2);
  return {
      {"ones", [=] { return Multigrid<T>(matrix, blocks(), {.coarsest = coarsest}); }},
      {"relaxed vectors", [=] { return Multigrid<T>(matrix, blocks(), {.coarsest = coarsest, .relaxed = 2}); }},
      {"vectors of the user", [=] { return Multigrid<T>(matrix, blocks(), modes.view(), {.coarsest = coarsest}); }}};
}

}  // namespace blockjacobi::test
