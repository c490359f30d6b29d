#pragma once

#include "kernels/global/blocked.hpp"
#include "kernels/global/tile_batch.cuh"
#include "kernels/subwarp/tile_pseudo_inverse.cuh"

namespace blockjacobi::kernels {

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
  __device__ void run(offset_t k, const detail::MatrixRef<const C>& matrix, const TileScratch<W, C>& scratch) const {
    const int n = matrix.rows;
    const auto tile = scratch.tile(n, n);
    tile.load(matrix);
    TilePseudoInverse<W, C> inverse(tile, scratch.tile(n, n, 1));
    const int outcome = inverse.run(rtol);
    if (outcome < 0) tile.fill(quiet_nan<C>());
    tile.store(detail::matrix_of(x, k, n, n), inverse.place());
    if (tile.lanes.rank == 0) rank[k] = outcome;
  }
};

template <class C>
void pseudo_inverse(const MatrixBatchView<const C>& a, const MatrixBatchView<C>& x, double rtol, index_t* rank,
                    const MatrixBatchView<C>& work, CUstream_st* stream) {
  launch_tiles(PseudoInverse<C>{a, x, rtol, rank}, "pseudo_inverse", stream);
  if (a.rows > largest_tiny_order) pseudo_inverse_blocked(a, x, rtol, rank, work, stream);
}

}  // namespace blockjacobi::kernels
