#pragma once

#include <blockjacobi/permutation.hpp>
#include <blockjacobi/views.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace blockjacobi {

/// Vectors that A nearly maps to zero, the columns of a rows x cols array on the host, column-major, for TwoLevel
/// and Multigrid:
///
///     const NearKernel<double> modes = rigid_body_modes<double>(coordinates, 3);
///     const TwoLevel<double> M(A, BlockJacobi<double>(A, blocks), modes.view());
template <Scalar T>
struct NearKernel {
  index_t rows = 0;
  index_t cols = 0;
  std::vector<T> values;

  MultiVectorView<const T> view() const noexcept { return {values.data(), rows, cols, rows}; }

  /// Of the renumbered system P A P^T: row k is row order()[k]. Throws InvalidArgument unless the permutation has
  /// `rows` numbers.
  NearKernel to_permuted(const Permutation& permutation) const {
    if (permutation.size() != rows)
      throw InvalidArgument("NearKernel::to_permuted: the permutation has " + std::to_string(permutation.size()) +
                            " numbers, must have " + std::to_string(rows));
    NearKernel result{rows, cols, {}};
    result.values.reserve(values.size());
    for (std::size_t first = 0; first < values.size(); first += static_cast<std::size_t>(rows))
      for (const index_t i : permutation.order()) result.values.push_back(values[first + static_cast<std::size_t>(i)]);
    return result;
  }
};

/// The rigid motions of an elastic body: in two dimensions the translations (1, 0), (0, 1) and the rotation (-y, x), 3
/// columns; in three those along x, y, z and about z, x, y, 6 columns. x, y, z are taken from the mean of all nodes, so
/// that the columns are of similar size wherever the body lies. `coordinates` has the nodes one after another, those of
/// node k from coordinates[k * dimension]; row k * dimension + c is the displacement of node k along coordinate c, so
/// that unknowns of a node stand together in the same order. Throws InvalidArgument for a dimension other than 2 and 3,
/// a number of coordinates that it does not divide or with more rows than index_t counts, and NaN or Inf.
template <Scalar T>
[[nodiscard]] BLOCKJACOBI_EXPORT NearKernel<T> rigid_body_modes(std::span<const double> coordinates, int dimension);

}  // namespace blockjacobi
