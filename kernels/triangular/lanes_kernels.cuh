#pragma once

#include "kernels/launch/lanes.cuh"
#include "kernels/lu/lanes_interchanges.cuh"
#include "kernels/triangular/lanes.cuh"

namespace blockjacobi::kernels {

/// With the factors of getrf.
template <class C>
struct LuSolve {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<const C> lu;
  const index_t* ipiv;
  MatrixBatchView<C> b;
  batched::Op op;

  __device__ __host__ const MatrixBatchView<const C>& batch() const { return lu; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const LanesScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load(matrix);
    const LanesSubstitution<W, C> factors(tile);
    const auto right = detail::matrix_of(b, k, matrix.rows, b.cols);
    const int place = place_after_interchanges(tile.lanes, own_pivot(tile, ipiv + k * lu.rows), matrix.rows);
    const int i = tile.lanes.rank, source = row_at_own_place(tile, place);
    for (int j = 0; j < right.cols; ++j) {
      // The interchanged rows are read, or written: P b first, or P^T of the result.
      const bool plain = op == batched::Op::none;
      const C x = solve_lu(factors, op, tile.owns_row() ? right(plain ? source : i, j) : C{});
      tile.lanes.sync();  // all rows are read
      if (tile.owns_row()) right(plain ? i : source, j) = x;
    }
  }

 private:
  /// The inverse of the permutation that takes row i to place[i].
  template <int W>
  __device__ static int row_at_own_place(const SharedTile<W, C>& tile, int place) {
    int source = 0;
    for (int row = 0; row < tile.rows; ++row)
      if (tile.lanes.broadcast(place, row) == tile.lanes.rank) source = row;
    return source;
  }
};

/// With the factor of potrf.
template <class C>
struct CholeskySolve {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<const C> cholesky;
  MatrixBatchView<C> b;
  batched::Triangle triangle;

  __device__ __host__ const MatrixBatchView<const C>& batch() const { return cholesky; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const LanesScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load_triangle(triangle, matrix);
    const LanesSubstitution<W, C> l(tile);
    const auto right = detail::matrix_of(b, k, matrix.rows, b.cols);
    const int i = tile.lanes.rank;
    for (int j = 0; j < right.cols; ++j) {
      const C x = solve_cholesky(l, tile.owns_row() ? right(i, j) : C{});
      if (tile.owns_row()) right(i, j) = x;
    }
  }
};

}  // namespace blockjacobi::kernels
