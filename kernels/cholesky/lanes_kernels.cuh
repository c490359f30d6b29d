#pragma once

#include "kernels/cholesky/lanes.cuh"
#include "kernels/launch/lanes.cuh"

namespace blockjacobi::kernels {

/// The inverse from the factorization.
template <class C>
struct CholeskyInverse {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<C> a;
  batched::Triangle triangle;
  int* info;

  __device__ __host__ const MatrixBatchView<C>& batch() const { return a; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<C>& matrix, const LanesScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load_triangle(triangle, as_const(matrix));
    const int outcome = tile.first_zero_diagonal();
    if (outcome == 0)
      LanesCholeskyInverse<W, C>(tile).invert();
    else
      tile.fill(quiet_nan<C>());
    // Looked up again: the elimination needs every register.
    tile.store_triangle(triangle, detail::matrix_of(a, k, matrix.rows, matrix.rows));
    if (tile.lanes.rank == 0) info[k] = outcome;
  }
};

}  // namespace blockjacobi::kernels
