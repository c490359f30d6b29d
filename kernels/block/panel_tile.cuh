#pragma once

#include "kernels/block/block_rows.cuh"
#include "kernels/subwarp/tensor_cholesky.cuh"

namespace blockjacobi::kernels {

/// 32 rows of a panel of W columns in the registers of a warp, in the form in which products are subtracted from them.
/// Lane l has the rows l / 4 + 8 r and W / 4 neighbouring columns.
template <class C, int W>
struct PanelTile {
  static constexpr int rows = 4, columns = W / 4;
  C x[rows][columns];

  /// visit(row, column, element).
  template <class Visit>
  __device__ void for_each(Visit visit) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
      for (int r = 0; r < rows; ++r) visit(lane / 4 + 8 * r, lane % 4 * columns + c, x[r][c]);
  }

  /// Subtracts l(row, 0..W - 1) times the staged rows; those before `skipped` need not be right.
  template <class Left>
  __device__ void subtract(Left l, const C* staged, int /*skipped*/) {
    constexpr int depth = sizeof(C) > 8 ? 4 : 8;  // columns under way
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll 1
    for (int m0 = 0; m0 < W; m0 += depth) {
      C factor[depth][rows];
#pragma unroll
      for (int m = 0; m < depth; ++m)
#pragma unroll
        for (int r = 0; r < rows; ++r) factor[m][r] = l(lane / 4 + 8 * r, m0 + m);
#pragma unroll
      for (int m = 0; m < depth; ++m) {
        C row[columns];
        read(staged + (m0 + m) * Rows<C, W>::stride + lane % 4 * columns, row);
#pragma unroll
        for (int c = 0; c < columns; ++c)
#pragma unroll
          for (int r = 0; r < rows; ++r) x[r][c] = fused_subtract(x[r][c], factor[m][r], row[c]);
      }
    }
  }

 private:
  __device__ static void read(const C* from, C (&to)[columns]) {
    using Part = Vector16<C>;
    static_assert(columns % Part::size == 0);
#pragma unroll
    for (int p = 0; p < columns / Part::size; ++p) {
      const Part part = reinterpret_cast<const Part*>(from)[p];
#pragma unroll
      for (int v = 0; v < Part::size; ++v) to[p * Part::size + v] = part.value[v];
    }
  }
};

/// In fp64 on the tensor cores: lane l has the rows l / 4 + 8 r and the columns 8 c + 2 (l % 4), + 1.
template <int W>
struct PanelTile<double, W> {
  static constexpr int rows = 4, columns = W / 8;
  double x[rows][columns][2];

  template <class Visit>
  __device__ void for_each(Visit visit) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
      for (int v = 0; v < 2; ++v)
#pragma unroll
        for (int r = 0; r < rows; ++r) visit(lane / 4 + 8 * r, 8 * c + lane % 4 * 2 + v, x[r][c][v]);
  }

  template <class Left>
  __device__ void subtract(Left l, const double* staged, int skipped) {
    if (skipped < rows / 2 * 8)
      subtract_from<0>(l, staged);
    else
      subtract_from<rows / 2>(l, staged);
  }

 private:
  template <int First, class Left>
  __device__ void subtract_from(Left l, const double* staged) {
    const int lane = static_cast<int>(threadIdx.x) % 32, row = lane / 4, k = lane % 4;
    double left[W / 4][rows];
#pragma unroll
    for (int m = 0; m < W / 4; ++m)
#pragma unroll
      for (int r = First; r < rows; ++r) left[m][r] = l(row + 8 * r, 4 * m + k);
#pragma unroll
    for (int m = 0; m < W / 4; ++m)
#pragma unroll
      for (int c = 0; c < columns; ++c) {
        const double right = -staged[(4 * m + k) * Rows<double, W>::stride + 8 * c + row];
#pragma unroll
        for (int r = First; r < rows; ++r) multiply_add(x[r][c][0], x[r][c][1], left[m][r], right);
      }
  }
};

}  // namespace blockjacobi::kernels
