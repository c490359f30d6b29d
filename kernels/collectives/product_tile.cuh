#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/tensor.cuh"

namespace blockjacobi::kernels {

/// 32 rows and W columns in the registers of a warp, to which products P B are added in fp64 on the tensor cores. P has
/// the same rows and lies in shared memory by columns, B row by row, its real and imaginary parts apart. Lane 4 m + k
/// has the rows m + 8 r and of each group of 8 columns k and k + 4.
template <class C, int W>
struct ProductTile {
  static constexpr bool is_complex = detail::Arithmetic<C>::is_complex;
  static constexpr int rows = 4, groups = W / 8, parts = is_complex ? 2 : 1;
  static constexpr int stride = W + 4;               ///< of rows of B, without bank conflicts
  static constexpr int staged = parts * W * stride;  ///< elements of B, of W rows
  static_assert(W % 16 == 0);

  /// Columns of P at once, their leading dimension in shared memory, without bank conflicts, and their elements.
  static constexpr int depth = is_complex ? 4 : 8, ld = 32 + 32 / static_cast<int>(sizeof(C)), piece = depth * ld;

  double sum[parts][rows][groups][2];

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  /// The row in the tile of register r, and the columns of values c, v.
  __device__ static int row(int r) { return lane() / 4 + 8 * r; }
  __device__ static int column(int c, int v) { return 8 * c + lane() % 4 + 4 * v; }

  __device__ void set(int r, int c, int v, C x) {
    if constexpr (is_complex) {
      sum[0][r][c][v] = static_cast<double>(x.re);
      sum[1][r][c][v] = static_cast<double>(x.im);
    } else {
      sum[0][r][c][v] = static_cast<double>(x);
    }
  }
  __device__ C rounded(int r, int c, int v) const {
    using Real = detail::arithmetic_real_t<C>;
    if constexpr (is_complex)
      return {static_cast<Real>(sum[0][r][c][v]), static_cast<Real>(sum[1][r][c][v])};
    else
      return static_cast<Real>(sum[0][r][c][v]);
  }

  /// Row r becomes row `place` of B and zero.
  __device__ void move_row(int r, double* b, int place) {
    double* const to = b + place * stride + 2 * (lane() % 4);
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int c = 0; c < groups; ++c) {
        *reinterpret_cast<double2*>(to + p * W * stride + 8 * c) = {sum[p][r][c][0], sum[p][r][c][1]};
        sum[p][r][c][0] = sum[p][r][c][1] = 0;
      }
  }

  /// An element of B.
  __device__ static void put(double* b, int row, int column, C x) {
    double* const to = b + row * stride + (column & ~7) + 2 * (column & 3) + (column >> 2 & 1);
    if constexpr (is_complex) {
      to[0] = static_cast<double>(x.re);
      to[W * stride] = static_cast<double>(x.im);
    } else {
      to[0] = static_cast<double>(x);
    }
  }

  /// Adds the product of `depth` columns of P, the first at `columns`, and as many rows of B. Of P the first `existing`
  /// registers' rows are there; what becomes of the others has no meaning.
  __device__ void add(const C* columns, int column_ld, int existing, const double* b) {
    constexpr int values = depth / 4;  // of a lane
    const C* const left = columns + lane() / 4 + lane() % 4 * column_ld;
    const double* const own = b + lane() % 4 * stride + lane() / 4;
    double a[parts][rows][values];
#pragma unroll
    for (int r = 0; r < rows; ++r)
#pragma unroll
      for (int v = 0; v < values; ++v) {
        const C x = left[8 * min(r, existing - 1) + 4 * v * column_ld];
        if constexpr (is_complex) {
          a[0][r][v] = static_cast<double>(x.re);
          a[1][r][v] = static_cast<double>(x.im);
        } else {
          a[0][r][v] = static_cast<double>(x);
        }
      }
#pragma unroll
    for (int c = 0; c < groups; ++c) {
      double right[values];
#pragma unroll
      for (int v = 0; v < values; ++v) right[v] = own[8 * c + 4 * v * stride];
      add_product(0, a[0], c, right);
      if constexpr (is_complex) {
        add_product(1, a[1], c, right);
#pragma unroll
        for (int v = 0; v < values; ++v) right[v] = own[8 * c + (W + 4 * v) * stride];
        add_product(1, a[0], c, right);
#pragma unroll
        for (int v = 0; v < values; ++v) right[v] = -right[v];
        add_product(0, a[1], c, right);
      }
    }
  }

 private:
  template <int values>
  __device__ void add_product(int part, const double (&a)[rows][values], int c, const double (&right)[values]) {
#pragma unroll
    for (int h = 0; h < rows; h += 2) multiply_add(sum[part][h][c], sum[part][h + 1][c], a[h], a[h + 1], right);
  }
};

}  // namespace blockjacobi::kernels
