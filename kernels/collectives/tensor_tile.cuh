#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/team.cuh"
#include "kernels/collectives/tensor.cuh"

namespace blockjacobi::kernels {

/// An 8 x 8 tile of a matrix over a warp. Lane 4 m + k has row m / 2 + 4 (m % 2), columns k and k + 4. With rows and
/// columns permuted alike a tile is either operand, and the sum, of a product as it stands in the registers.
template <class Wide>
struct TensorTile {
  static constexpr int order = 8, values = 2;
  static constexpr bool is_complex = detail::Arithmetic<Wide>::is_complex;

  double part[is_complex ? 2 : 1][values];  ///< the real ones, then the imaginary ones

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  /// The row of a lane, and the column of this one's value v.
  __device__ static int row(int lane) { return lane / 8 + 4 * (lane / 4 % 2); }
  __device__ static int row() { return row(lane()); }
  __device__ static int column(int v) { return lane() % 4 + 4 * v; }
  /// The lane with the first columns of row i, 0 <= i < 8; lane + k has value k / 4 of column k % 4.
  __device__ static int lane_of_row(int i) { return 8 * (i % 4) + 4 * (i / 4); }

  __device__ Wide get(int v) const {
    if constexpr (is_complex)
      return {part[0][v], part[1][v]};
    else
      return part[0][v];
  }
  __device__ void set(int v, Wide x) {
    if constexpr (is_complex) {
      part[0][v] = x.re;
      part[1][v] = x.im;
    } else {
      part[0][v] = x;
    }
  }
  __device__ TensorTile operator-() const {
    TensorTile result;
#pragma unroll
    for (int v = 0; v < values; ++v) result.set(v, -get(v));
    return result;
  }
};

/// Adds a b^H.
template <class Wide>
__device__ void add_product(TensorTile<Wide>& sum, const TensorTile<Wide>& a, const TensorTile<Wide>& b) {
#pragma unroll
  for (int v = 0; v < TensorTile<Wide>::values; ++v) {
    multiply_add(sum.part[0][0], sum.part[0][1], a.part[0][v], b.part[0][v]);
    if constexpr (TensorTile<Wide>::is_complex) {
      multiply_add(sum.part[1][0], sum.part[1][1], a.part[1][v], b.part[0][v]);
      multiply_add(sum.part[0][0], sum.part[0][1], a.part[1][v], b.part[1][v]);
      multiply_add(sum.part[1][0], sum.part[1][1], a.part[0][v], -b.part[1][v]);
    }
  }
}

/// Adds a b^H to two tiles that stand one above the other, as the two of a do.
template <class Wide>
__device__ void add_product(TensorTile<Wide>& upper, TensorTile<Wide>& lower, const TensorTile<Wide>& a_upper,
                            const TensorTile<Wide>& a_lower, const TensorTile<Wide>& b) {
  multiply_add(upper.part[0], lower.part[0], a_upper.part[0], a_lower.part[0], b.part[0]);
  if constexpr (TensorTile<Wide>::is_complex) {
    const double minus_imaginary[2] = {-b.part[1][0], -b.part[1][1]};
    multiply_add(upper.part[1], lower.part[1], a_upper.part[1], a_lower.part[1], b.part[0]);
    multiply_add(upper.part[0], lower.part[0], a_upper.part[1], a_lower.part[1], b.part[1]);
    multiply_add(upper.part[1], lower.part[1], a_upper.part[0], a_lower.part[0], minus_imaginary);
  }
}

}  // namespace blockjacobi::kernels
