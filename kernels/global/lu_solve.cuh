#pragma once

#include "kernels/global/blocked.hpp"
#include "kernels/global/tile_batch.cuh"
#include "kernels/subwarp/tile_lu_inverse.cuh"
#include "kernels/subwarp/tile_solve.cuh"

namespace blockjacobi::kernels {

/// Lane k's row of getrf's interchanges, from 0.
template <int W, class C>
__device__ int own_pivot(const SharedTile<W, C>& tile, const index_t* ipiv) {
  return tile.owns_row() ? ipiv[tile.lanes.rank] - 1 : 0;
}

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
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const TileScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load(matrix);
    const int outcome = tile.first_zero_diagonal();
    if (outcome == 0)
      TileLuInverse<W, C>(tile).run(own_pivot(tile, ipiv + k * lu.rows));
    else
      tile.fill(quiet_nan<C>());
    tile.store(detail::matrix_of(x, k, matrix.rows, matrix.rows));
    if (tile.lanes.rank == 0) info[k] = outcome;
  }
};

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
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const TileScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load(matrix);
    const TileSubstitution<W, C> factors(tile);
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

template <class C>
void getri(const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& x, int* info,
           CUstream_st* stream) {
  launch_tiles(LuInverse<C>{lu, ipiv, x, info}, "getri", stream);
  if (lu.rows > largest_tiny_order) getri_blocked(lu, ipiv, x, info, stream);
}

template <class C>
void getrs(batched::Op op, const MatrixBatchView<const C>& lu, const index_t* ipiv, const MatrixBatchView<C>& b,
           CUstream_st* stream) {
  if (b.cols == 0) return;
  launch_tiles(LuSolve<C>{lu, ipiv, b, op}, "getrs", stream);
  if (lu.rows > largest_tiny_order) getrs_blocked(op, lu, ipiv, b, stream);
}

}  // namespace blockjacobi::kernels
