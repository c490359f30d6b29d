#pragma once

#include "kernels/inverse/lanes_from_lu.cuh"
#include "kernels/inverse/lanes_pseudo.cuh"
#include "kernels/launch/lanes.cuh"
#include "kernels/lu/lanes_interchanges.cuh"

namespace blockjacobi::kernels {

/// The inverse from the factors of getrf.
template <class C>
struct LuInverse {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<const C> lu;
  const index_t* ipiv;
  MatrixBatchView<C> x;
  int* info;

  __device__ __host__ const MatrixBatchView<const C>& batch() const { return lu; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const LanesScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load(matrix);
    const int outcome = tile.first_zero_diagonal();
    if (outcome == 0)
      LanesLuInverse<W, C>(tile).run(own_pivot(tile, ipiv + k * lu.rows));
    else
      tile.fill(quiet_nan<C>());
    tile.store(detail::matrix_of(x, k, matrix.rows, matrix.rows));
    if (tile.lanes.rank == 0) info[k] = outcome;
  }
};

/// The pseudo-inverse of a matrix.
template <class C>
struct PseudoInverse {
  using Scalar = C;
  static constexpr int tiles = 2;
  MatrixBatchView<const C> a;
  MatrixBatchView<C> x;
  double rtol;
  index_t* rank;

  __device__ __host__ const MatrixBatchView<const C>& batch() const { return a; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const LanesScratch<W, C>& scratch) const {
    const int n = matrix.rows;
    const auto tile = scratch.tile(n, n);
    tile.load(matrix);
    LanesPseudoInverse<W, C> inverse(tile, scratch.tile(n, n, 1));
    const int outcome = inverse.run(rtol);
    if (outcome < 0) tile.fill(quiet_nan<C>());
    tile.store(detail::matrix_of(x, k, n, n), inverse.place());
    if (tile.lanes.rank == 0) rank[k] = outcome;
  }
};

}  // namespace blockjacobi::kernels
