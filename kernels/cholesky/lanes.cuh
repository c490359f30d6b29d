#pragma once

#include "kernels/collectives/shared_tile.cuh"

namespace blockjacobi::kernels {

/// The inverse from a Cholesky factor in the lower triangle of a tile; the other one is not touched.
///
/// Each lane has a column in registers; step k publishes one column, and all lanes subtract multiples of it
/// from theirs. A step moves what is in register j to register j - 1, so that the column of the step always is in
/// register 0 and the loop over the steps need not be unrolled. Phases give up the registers that have become idle.
template <int W, class C>
class LanesCholeskyInverse {
  using Real = detail::arithmetic_real_t<C>;

 public:
  __device__ explicit LanesCholeskyInverse(const SharedTile<W, C>& tile) : tile_(tile), n_(tile.rows) {}

  /// From L: the lower triangle of A^-1 = V^H V, V = L^-1. The diagonal of L has no zeros.
  __device__ void invert() {
    invert_triangle();
    multiply_by_adjoint();
  }

 private:
  static constexpr int phase_steps = lanes_phase;

  __device__ int rank() const { return tile_.lanes.rank; }

  /// step<Width>(k) for k = 0 .. n - 1 as long as it returns true; rows and columns k .. are in the first Width
  /// registers.
  template <int Width, class Step>
  __device__ void descend(Step&& step) {
#pragma unroll 1
    for (int s = 0; s < phase_steps; ++s) {
      const int k = W - Width + s;
      if (k >= n_ || !step.template operator()<Width>(k)) return;
    }
    if constexpr (Width > phase_steps) descend<Width - phase_steps>(step);
  }

  /// V over L. x_ is a column of I - L V, from row k on. Row k of V takes the place of row k of L, of which nothing is
  /// needed any more.
  __device__ void invert_triangle() {
#pragma unroll
    for (int i = 0; i < W; ++i) x_[i] = detail::from_real<C>(i == rank() ? Real(1) : Real(0));
    descend<W>([&]<int Width>(int k) {
      const C v = (Real(1) / detail::real_part(tile_.at(k, k))) * x_[0];
      if (rank() > k && rank() < n_) tile_.vector[rank() - k] = tile_.at(rank(), k);
      tile_.lanes.sync();
      if (rank() <= k) tile_.at(k, rank()) = v;
      tile_.vector.template for_each<Width>([&](int i, C l_ik) {
        if (i > 0) x_[i - 1] = fused_subtract(x_[i], l_ik, v);
      });
      tile_.lanes.sync();
      return true;
    });
  }

  /// V^H V over V, summed row by row of V from the last one. x_ is a column of the product.
  __device__ void multiply_by_adjoint() {
#pragma unroll
    for (int i = 0; i < W; ++i) x_[i] = C{};
    multiply_phase<W>();
    const int j = rank();
#pragma unroll
    for (int i = 0; i < W; ++i) {
      if (i < n_ && i > j) tile_.at(i, j) = x_[i];
      if (i < n_ && i == j) tile_.at(i, j) = detail::from_real<C>(detail::real_part(x_[i]));
    }
    tile_.lanes.sync();
  }

  /// The rows of V below Width.
  template <int Width>
  __device__ void multiply_phase() {
    constexpr int first = Width - phase_steps;
#pragma unroll 1
    for (int k = min(Width, n_) - 1; k >= first; --k) {
      const C v = rank() <= k ? tile_.at(k, rank()) : C{};
      tile_.vector[rank()] = -detail::conj(v);
      tile_.lanes.sync();
      tile_.vector.template for_each<Width>([&](int i, C v_ki) { x_[i] = fused_subtract(x_[i], v_ki, v); });
      tile_.lanes.sync();
    }
    if constexpr (first > 0) multiply_phase<first>();
  }

  SharedTile<W, C> tile_;
  int n_;
  C x_[W];
};

}  // namespace blockjacobi::kernels
