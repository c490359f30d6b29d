#pragma once

#include "kernels/collectives/rows.cuh"
#include "kernels/collectives/tensor.cuh"

namespace blockjacobi::kernels {

/// 32 rows and W columns in the registers of a warp, to which products P B are added: P has the same rows, B lies in
/// shared memory row by row, its columns within a group of 8 at place(). Lane l has the rows l / 4 + 8 r and W / 4
/// neighbouring columns.
template <class C, int W>
struct UpdateTile {
  static constexpr int rows = 4, columns = W / 4;
  static constexpr int depth = sizeof(C) > 8 ? 4 : 8;           ///< columns of P at once
  static constexpr bool keeps_left = W <= 8 && sizeof(C) <= 8;  ///< all W columns of P fit into the registers too
  static_assert(W % depth == 0);

  /// `depth` columns of P.
  struct Left {
    C x[depth][rows];
  };
  C x[rows][columns];

  /// The row in the tile of register r.
  __device__ static int row(int r) { return lane() / 4 + 8 * r; }
  /// Where column j of B lies.
  __host__ __device__ static constexpr int place(int j) { return j; }
  /// The leading dimension from n on with which columns of a matrix are accessed with least bank conflicts.
  __host__ __device__ static constexpr int conflict_free_ld(int n) {
    return sizeof(C) == 4 ? (n + 5) / 8 * 8 + 2 : n | 1;
  }
  /// The same for rows of B.
  __host__ __device__ static constexpr int conflict_free_stride(int n) {
    return (n + 3) / 4 * 4 + (sizeof(C) == 4 ? 4 : 2);
  }

  /// visit(r, column in the tile, element), register r as in row().
  template <class Visit>
  __device__ void for_each(Visit visit) {
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
      for (int r = 0; r < rows; ++r) visit(r, lane() % 4 * columns + c, x[r][c]);
  }

  /// p(i, m) for the rows row[r], r as in row().
  template <class Columns>
  __device__ static Left load_left(const Columns& p, const int (&row)[rows]) {
    Left left;
#pragma unroll
    for (int m = 0; m < depth; ++m)
#pragma unroll
      for (int r = 0; r < rows; ++r) left.x[m][r] = -p(row[r], m);
    return left;
  }

  /// Adds P B with `depth` rows of B.
  __device__ void add(const Left& left, const C* b, int stride) {
#pragma unroll
    for (int m = 0; m < depth; ++m) {
      using Part = Vector16<C>;
      static_assert(columns % Part::size == 0);
      C right[columns];
      const C* const from = b + m * stride + lane() % 4 * columns;
#pragma unroll
      for (int p = 0; p < columns / Part::size; ++p) {
        const Part part = reinterpret_cast<const Part*>(from)[p];
#pragma unroll
        for (int v = 0; v < Part::size; ++v) right[p * Part::size + v] = part.value[v];
      }
      add_row(left, m, right);
    }
  }
  /// The same with row m and column j of B from b(m, j).
  template <class Right>
  __device__ void add_from(const Left& left, const Right& b) {
#pragma unroll
    for (int m = 0; m < depth; ++m) {
      C right[columns];
#pragma unroll
      for (int c = 0; c < columns; ++c) right[c] = b(m, lane() % 4 * columns + c);
      add_row(left, m, right);
    }
  }

 private:
  __device__ void add_row(const Left& left, int m, const C (&right)[columns]) {
#pragma unroll
    for (int c = 0; c < columns; ++c)
#pragma unroll
      for (int r = 0; r < rows; ++r) x[r][c] = fused_subtract(x[r][c], left.x[m][r], right[c]);
  }

  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
};

/// In fp64 on the tensor cores. Lane 4 m + k has the rows m + 8 r and of each group of 8 columns k and k + 4, with
/// which the columns of a matrix in shared memory are accessed without bank conflicts.
template <int W>
struct UpdateTile<double, W> {
  static constexpr int rows = 4, groups = W / 8, depth = 8;
  static constexpr bool keeps_left = true;

  struct Left {
    double upper[2][2], lower[2][2];
  };
  double upper[2][groups][2], lower[2][groups][2];  ///< rows of 16, columns of 8

  __device__ static int row(int r) { return lane() / 4 + 8 * r; }
  __host__ __device__ static constexpr int place(int j) { return (j & ~7) + 2 * (j & 3) + (j >> 2 & 1); }
  __host__ __device__ static constexpr int conflict_free_ld(int n) { return (n + 3) / 8 * 8 + 4; }
  __host__ __device__ static constexpr int conflict_free_stride(int n) { return (n + 3) / 8 * 8 + 4; }

  template <class Visit>
  __device__ void for_each(Visit visit) {
#pragma unroll
    for (int c = 0; c < groups; ++c)
#pragma unroll
      for (int v = 0; v < 2; ++v)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          visit(2 * h, 8 * c + lane() % 4 + 4 * v, upper[h][c][v]);
          visit(2 * h + 1, 8 * c + lane() % 4 + 4 * v, lower[h][c][v]);
        }
  }

  template <class Columns>
  __device__ static Left load_left(const Columns& p, const int (&row)[rows]) {
    const int m = lane() % 4;
    Left left;
#pragma unroll
    for (int h = 0; h < 2; ++h)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        left.upper[h][v] = p(row[2 * h], m + 4 * v);
        left.lower[h][v] = p(row[2 * h + 1], m + 4 * v);
      }
    return left;
  }

  __device__ void add(const Left& left, const double* b, int stride) {
    const double* const own = b + lane() % 4 * stride + lane() / 4;
#pragma unroll
    for (int c = 0; c < groups; ++c) {
      const double right[2] = {own[8 * c], own[8 * c + 4 * stride]};
#pragma unroll
      for (int h = 0; h < 2; ++h) multiply_add(upper[h][c], lower[h][c], left.upper[h], left.lower[h], right);
    }
  }
  template <class Right>
  __device__ void add_from(const Left& left, const Right& b) {
    const int m = lane() % 4, j = lane() / 8 + 4 * (lane() / 4 % 2);
#pragma unroll
    for (int c = 0; c < groups; ++c) {
      const double right[2] = {b(m, 8 * c + j), b(m + 4, 8 * c + j)};
#pragma unroll
      for (int h = 0; h < 2; ++h) multiply_add(upper[h][c], lower[h][c], left.upper[h], left.lower[h], right);
    }
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
};

}  // namespace blockjacobi::kernels
