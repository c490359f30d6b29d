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
      LanesCholesky<W, C>(tile).invert();
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
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const LanesScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.rows);
    tile.load_triangle(triangle, matrix);
    LanesCholesky<W, C> cholesky(tile);
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

}  // namespace blockjacobi::kernels
