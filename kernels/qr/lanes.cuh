#pragma once

#include "kernels/collectives/shared_tile.cuh"
#include "kernels/qr/householder.cuh"

namespace blockjacobi::kernels {

/// Householder QR of a tile, column by column in any order: the reflectors and R take the place of the matrix, each
/// column where it stood.
///
/// Each lane has its column in registers. A step publishes the column it takes, of which all lanes compute the inner
/// product with theirs, itself included: that is its norm. What is in register i moves to register i - 1, so that row k
/// is in register 0 in step k and the loop over the steps need not be unrolled.
template <int W, class C>
class LanesQr {
  using Real = detail::arithmetic_real_t<C>;

 public:
  __device__ explicit LanesQr(const SharedTile<W, C>& tile) : tile_(tile), remains_(tile.owns_column()) {
#pragma unroll
    for (int i = 0; i < W; ++i) x_[i] = remains_ && i < tile.rows ? tile.at(i, tile.lanes.rank) : C{};
  }

  /// The columns from left to right. Lane k gets tau_k.
  __device__ C factor() {
    const int steps = min(tile_.rows, tile_.cols);
    C tau{};
    factor_phase<W>(steps, tau);
    tile_.lanes.sync();
    return tau;
  }

  /// Whether no step has taken this lane's column yet, and what remains of it, squared.
  __device__ bool remains() const { return remains_; }
  __device__ double remaining_squares() const {
    double sum = 0;
#pragma unroll
    for (int i = 0; i < W; ++i) sum += detail::norm2(detail::widen(x_[i]));
    return sum;
  }

  /// Step k with column p, for rows k .. in the first Width registers. Returns tau.
  template <int Width = W>
  __device__ C step(int k, int p) {
    const auto scale = NormScale<Real>::of(largest_word<Width>(p));
    const bool tail_is_zero = publish<Width>(p, scale.power);
    const C inner = inner_product<Width>();
    const auto reflector =
        Reflector<C>::make(tile_.vector[0], tile_.lanes.broadcast(detail::real_part(inner), p), tail_is_zero);
    const C product = detail::conj(reflector.tau) * (x_[0] + detail::conj(reflector.scale) * inner);
    const int own = tile_.lanes.rank;
    if (remains_)
      tile_.at(k, own) = own == p ? detail::from_real<C>(scaled(reflector.beta, scale.inverse)) : x_[0] - product;
    if (own > 0 && k + own < tile_.rows) tile_.at(k + own, p) = tile_.vector[own] * reflector.scale;
    remains_ = remains_ && own != p;
    subtract<Width>(reflector.scale * product);
    tile_.lanes.sync();  // the vector is written again
    return reflector.tau;
  }

 private:
  static constexpr int phase_steps = lanes_phase;

  template <int Width>
  __device__ void factor_phase(int steps, C& tau) {
#pragma unroll 1
    for (int k = W - Width; k < W - Width + phase_steps; ++k) {
      if (k >= steps) return;
      const C tau_k = step<Width>(k, k);
      if (tile_.lanes.rank == k) tau = tau_k;
    }
    if constexpr (Width > phase_steps) factor_phase<Width - phase_steps>(steps, tau);
  }

  /// The largest magnitude word of column p.
  template <int Width>
  __device__ unsigned largest_word(int p) const {
    unsigned largest = 0;
#pragma unroll
    for (int i = 0; i < Width; ++i) largest = max(largest, magnitude_word(x_[i]));
    return static_cast<unsigned>(tile_.lanes.broadcast(static_cast<int>(largest), p));
  }

  /// Column p times `power` to the vector. Returns whether it is zero but for its first element.
  template <int Width>
  __device__ bool publish(int p, Real power) {
    bool tail_is_zero = true;
    if (tile_.lanes.rank == p) {
#pragma unroll
      for (int i = 0; i < Width; ++i) {
        x_[i] = scaled(x_[i], power);
        tile_.vector[i] = x_[i];
        if (i > 0) tail_is_zero = tail_is_zero && detail::is_zero(x_[i]);
      }
    }
    tile_.lanes.sync();
    return tile_.lanes.broadcast(tail_is_zero ? 1 : 0, p) != 0;
  }

  /// x^H y for the published x and the own y, without their first elements.
  template <int Width>
  __device__ C inner_product() const {
    constexpr int sums = 4;  // a chain a sum
    C sum[sums] = {};
    tile_.vector.template for_each<Width>([&](int i, C x) {
      if (i > 0) sum[i % sums] = fused_subtract(sum[i % sums], -detail::conj(x), x_[i]);
    });
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }

  /// Subtracts `factor` times the published vector and moves on to the next row.
  template <int Width>
  __device__ void subtract(C factor) {
    tile_.vector.template for_each<Width>([&](int i, C x) {
      if (i > 0) x_[i - 1] = fused_subtract(x_[i], x, factor);
    });
    x_[Width - 1] = C{};
  }

  SharedTile<W, C> tile_;
  bool remains_;
  C x_[W];
};

}  // namespace blockjacobi::kernels
