#pragma once

#include "kernels/collectives/shared_tile.cuh"
#include "kernels/lu/lanes_interchanges.cuh"

namespace blockjacobi::kernels {

/// A^-1 from its LU factorization, in place in a tile: U^-1 L^-1 P, one column of the identity a lane.
///
/// A lane has its column in registers. Step k publishes column k of L or U, and all lanes subtract multiples of it. The
/// registers turn by one place a step, with x_k going to the end, so that the loop over the steps need not be unrolled;
/// after n steps with L the column stands in the last n registers, as the steps with U want it, which turn it back.
template <int W, class C>
class LanesLuInverse {
  using Real = detail::arithmetic_real_t<C>;

 public:
  __device__ explicit LanesLuInverse(const SharedTile<W, C>& tile) : tile_(tile), n_(tile.rows) {}

  /// Lane k has the row (from 0) that was interchanged with row k as `pivot`. U has no zeros on the diagonal.
  __device__ void run(int pivot) {
    const int place = place_after_interchanges(tile_.lanes, pivot, n_);
#pragma unroll
    for (int i = 0; i < W; ++i) x_[i] = detail::from_real<C>(i == place ? Real(1) : Real(0));
#pragma unroll 1
    for (int k = 0; k < n_; ++k) lower_step(k);
#pragma unroll 1
    for (int k = n_ - 1; k >= 0; --k) upper_step(k);
    if (tile_.owns_column()) {
#pragma unroll
      for (int i = 0; i < W; ++i)
        if (i < n_) tile_.at(i, tile_.lanes.rank) = x_[i];
    }
    tile_.lanes.sync();
  }

 private:
  /// Row k + i in register i; the rows above k, which are done, wrap round to the end.
  __device__ void lower_step(int k) {
    const int i = tile_.lanes.rank;
    tile_.vector[(i - k) & (W - 1)] = i > k && i < n_ ? tile_.at(i, k) : C{};
    tile_.lanes.sync();
    const C x_k = x_[0];
    tile_.vector.template for_each<W>([&](int j, C l) {
      if (j > 0) x_[j - 1] = fused_subtract(x_[j], l, x_k);
    });
    x_[W - 1] = x_k;
    tile_.lanes.sync();
  }

  /// Row k in the last register, row k - 1 before it; the rows below k, which are done, are in the first ones.
  __device__ void upper_step(int k) {
    const int i = tile_.lanes.rank;
    tile_.vector[(i - k + W - 1) & (W - 1)] = i < k ? tile_.at(i, k) : C{};
    const Divisor<C> pivot(tile_.at(k, k));
    tile_.lanes.sync();
    const C x_k = pivot.divide(x_[W - 1]);
    tile_.vector.template for_each_down<W>([&](int j, C u) {
      if (j < W - 1) x_[j + 1] = fused_subtract(x_[j], u, x_k);
    });
    x_[0] = x_k;
    tile_.lanes.sync();
  }

  SharedTile<W, C> tile_;
  int n_;
  C x_[W];
};

}  // namespace blockjacobi::kernels
