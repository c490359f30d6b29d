#pragma once

#include "kernels/cholesky/inverse_root.cuh"
#include "kernels/collectives/tensor_tile.cuh"

namespace blockjacobi::kernels {

/// The Cholesky factorization of a tile by a warp. Of the tile the lower triangle counts.
template <class Wide>
struct TileCholesky {
  using Tile = TensorTile<Wide>;

  /// The tile becomes its factor, with its inverse by the same row operations. Returns 0, or the order of the first
  /// leading minor that is not positive definite.
  __device__ static int factorize(Tile& tile, Tile& inverse) {
    Tile l = tile;
    if (factorize<false>(l, inverse) == 0) {
      tile = l;
      return 0;
    }
    return factorize<true>(tile, inverse);
  }

 private:
  /// A = M D M^H first, whose only chain are the pivots. With approximate divisions a pivot that is not positive, or
  /// too small or large for them, gives some other value than 0.
  template <bool exact>
  __device__ static int factorize(Tile& tile, Tile& inverse) {
    using Warp = Team<32>;
    // why: the many lanes to shuffle from would stay in registers from one tile to the next
    int lane = Tile::lane();
    asm volatile("" : "+r"(lane));
    const int row = Tile::row(lane), first_column = lane % 4;
    Wide x[2], w[2];
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) {
      const bool on_diagonal = row == first_column + 4 * v;
      x[v] = on_diagonal ? detail::from_real<Wide>(detail::real_part(tile.get(v))) : tile.get(v);
      w[v] = detail::from_real<Wide>(on_diagonal);
    }
#pragma unroll(exact ? 1 : Tile::order)
    for (int k = 0; k < Tile::order; ++k) {
      const Wide own = k < 4 ? x[0] : x[1];
      const double pivot = Warp::broadcast(detail::real_part(own), Tile::lane_of_row(k) + k % 4);
      const Wide left = Team<4>::broadcast(own, k % 4);
      const Wide quotient = row > k ? divided<exact>(left, pivot) : Wide{};
#pragma unroll
      for (int v = 0; v < Tile::values; ++v) {
        const int column = first_column + 4 * v;
        if (k < 4 * v + 3) {
          const Wide right = Warp::broadcast(own, Tile::lane_of_row(column) + k % 4);
          if (column > k) x[v] = fused_subtract(x[v], quotient, detail::conj(right));
        }
        if (k >= 4 * v) w[v] = fused_subtract(w[v], quotient, Warp::broadcast(w[v], Tile::lane_of_row(k) + lane % 4));
      }
    }
    const double pivot = Team<4>::broadcast(detail::real_part(row < 4 ? x[0] : x[1]), row % 4);
    const double root = exact ? 1 / sqrt(pivot) : inverse_root(pivot);
#pragma unroll
    for (int v = 0; v < Tile::values; ++v) {
      const int column = first_column + 4 * v;
      const double column_root = Warp::broadcast(root, Tile::lane_of_row(column));
      // why: the products of a complex number and its conjugate leave rounding errors in the imaginary part
      const Wide l = row == column ? detail::from_real<Wide>(detail::real_part(x[v])) : x[v];
      tile.set(v, row >= column ? column_root * l : Wide{});
      inverse.set(v, root * w[v]);
    }
    if constexpr (exact)
      return (static_cast<int>(__reduce_min_sync(full_warp, pivot > 0 ? Tile::order : row)) + 1) % (Tile::order + 1);
    else
      return Warp::any_in_warp(!in_range(pivot));
  }

  /// Pivots that divided() and inverse_root() can approximate.
  __device__ static bool in_range(double pivot) {
    return pivot > 0 && abs(__double2hiint(pivot) - __double2hiint(1.0)) < 1000 << ExponentField<double>::shift;
  }
  template <bool exact>
  __device__ static Wide divided(Wide a, double b) {
    if constexpr (exact && Tile::is_complex) {
      return {a.re / b, a.im / b};
    } else if constexpr (exact) {
      return a / b;
    } else {
      double y;
      asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(b));
      const double e = fma(-b, y, 1.0);
      const Wide z = y * a;
      return fused_add(z, detail::from_real<Wide>(fma(e, e, e)), z);
    }
  }
};

}  // namespace blockjacobi::kernels
