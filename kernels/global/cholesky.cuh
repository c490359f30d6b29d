#pragma once

#include "kernels/global/blocked.hpp"
#include "kernels/global/tile_batch.cuh"
#include "kernels/subwarp/tile_cholesky.cuh"
#include "kernels/subwarp/tile_solve.cuh"

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
  __device__ void run(offset_t k, const detail::MatrixRef<C>& matrix, const TileScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load_triangle(triangle, as_const(matrix));
    const int outcome = tile.first_zero_diagonal();
    if (outcome == 0)
      TileCholesky<W, C>(tile).invert();
    else
      tile.fill(quiet_nan<C>());
    // Looked up again: the elimination needs every register.
    tile.store_triangle(triangle, detail::matrix_of(a, k, matrix.rows, matrix.rows));
    if (tile.lanes.rank == 0) info[k] = outcome;
  }
};

/// Factorization and inverse in one pass.
template <class C>
struct SpdInverse {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<const C> a;
  MatrixBatchView<C> x;
  batched::Triangle triangle;
  batched::SpdStorage storage;
  int* info;

  __device__ __host__ const MatrixBatchView<const C>& batch() const { return a; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const TileScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load_triangle(triangle, matrix);
    TileCholesky<W, C> cholesky(tile);
    const int outcome = cholesky.factor();
    if (outcome == 0)
      cholesky.invert();
    else
      tile.fill(quiet_nan<C>());
    const auto inverse = detail::matrix_of(x, k, matrix.rows, matrix.rows);
    if (storage == batched::SpdStorage::full)
      tile.store_hermitian(inverse);
    else
      tile.store_packed(triangle, inverse.data);
    if (tile.lanes.rank == 0) info[k] = outcome;
  }
};

template <class C>
struct CholeskySolve {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<const C> cholesky;
  MatrixBatchView<C> b;
  batched::Triangle triangle;

  __device__ __host__ const MatrixBatchView<const C>& batch() const { return cholesky; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const TileScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load_triangle(triangle, matrix);
    const TileSubstitution<W, C> l(tile);
    const auto right = detail::matrix_of(b, k, matrix.rows, b.cols);
    const int i = tile.lanes.rank;
    for (int j = 0; j < right.cols; ++j) {
      const C x = solve_cholesky(l, tile.owns_row() ? right(i, j) : C{});
      if (tile.owns_row()) right(i, j) = x;
    }
  }
};

template <class C>
void potri(batched::Triangle triangle, const MatrixBatchView<C>& a, int* info, CUstream_st* stream) {
  launch_tiles(CholeskyInverse<C>{a, triangle, info}, "potri", stream);
  if (a.rows > largest_tiny_order) potri_blocked(triangle, a, info, stream);
}

template <class C>
void spd_inverse(batched::Triangle triangle, const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x,
                 batched::SpdStorage storage, int* info, const MatrixBatchView<C>& work, CUstream_st* stream) {
  launch_tiles(SpdInverse<C>{a, x, triangle, storage, info}, "spd_inverse", stream);
  if (a.rows > largest_tiny_order) spd_inverse_blocked(triangle, a, x, storage, info, work, stream);
}

template <class C>
void potrs(batched::Triangle triangle, const MatrixBatchView<const C>& cholesky, const MatrixBatchView<C>& b,
           CUstream_st* stream) {
  if (b.cols == 0) return;
  launch_tiles(CholeskySolve<C>{cholesky, b, triangle}, "potrs", stream);
  if (cholesky.rows > largest_tiny_order) potrs_blocked(triangle, cholesky, b, stream);
}

}  // namespace blockjacobi::kernels
