#pragma once

#include "kernels/launch/lanes.cuh"
#include "kernels/qr/lanes.cuh"

namespace blockjacobi::kernels {

/// Rectangles: one column a lane.
template <class C>
struct RectangularQr {
  using Scalar = C;
  static constexpr int tiles = 1;
  MatrixBatchView<C> a;
  C* tau;

  __device__ __host__ const MatrixBatchView<C>& batch() const { return a; }

  template <int W>
  __device__ void run(offset_t k, const detail::MatrixRef<C>& matrix, const LanesScratch<W, C>& scratch) const {
    const auto tile = scratch.tile(matrix.rows, matrix.cols);
    tile.load(as_const(matrix));
    const C own_tau = LanesQr<W, C>(tile).factor();
    tile.store(matrix);
    if (tile.lanes.rank < min(matrix.rows, matrix.cols)) tau[k * min(a.rows, a.cols) + tile.lanes.rank] = own_tau;
  }
};

}  // namespace blockjacobi::kernels
