#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/lanes.cuh"

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// Paneled Gauss-Jordan elimination of one n x n matrix by a thread block (one-dimensional, whole warps). The matrix
/// lies in shared or global memory, everything else in shared memory.
///
/// A panel of w columns is eliminated over all rows with partial pivoting. That leaves in it the columns K of the
/// transformation T that the w steps amount to, T = I elsewhere, so that the whole matrix takes one update of rank w:
/// with B = the pivot rows (the identity in the panel's own columns) and P = the panel,
///   a(i, j) = (i in K or j in K ? 0 : a(i, j)) + sum_l P(i, l) B(l, j).
template <class C>
struct InPlaceElimination {
  using R = detail::arithmetic_real_t<C>;

  C* a;  ///< column-major, leading dimension ld
  int ld;
  int n;
  int panel_width;  ///< columns eliminated together, the last panel may have fewer
  C* panel;         ///< n x panel_width, column-major: P
  C* pivot_rows;    ///< panel_width x n, row-major: B
  C* pivot_row;     ///< panel_width: the pivot row within the panel, before it is scaled
  R* magnitude;     ///< 1: of the pivot
  int* pivots;      ///< n: the row that step k exchanged with row k

  static constexpr int row_tile = 2;                         ///< rows a lane updates at once, 32 apart
  static constexpr int column_tile = sizeof(C) > 8 ? 4 : 8;  ///< columns a warp updates at once; bounded by registers

  /// Of shared memory for all but the matrix.
  __host__ __device__ static constexpr std::size_t bytes(int n, int panel_width) {
    return static_cast<std::size_t>((2 * n + 1) * panel_width + 1) * sizeof(C) +
           static_cast<std::size_t>(n) * sizeof(int);
  }
  __device__ static InPlaceElimination in(unsigned char* shared, const detail::MatrixRef<C>& a, int panel_width) {
    const int n = a.rows;
    C* const panel = reinterpret_cast<C*>(shared);
    C* const pivot_rows = panel + n * panel_width;
    C* const pivot_row = pivot_rows + n * panel_width;
    C* const magnitude = pivot_row + panel_width;
    return {a.data,
            a.ld,
            n,
            panel_width,
            panel,
            pivot_rows,
            pivot_row,
            reinterpret_cast<R*>(magnitude),
            reinterpret_cast<int*>(magnitude + 1)};
  }

  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }

  /// In place; returns 0, or k (1-based) if pivot k is exactly zero. Uniform in the thread block. The caller has a
  /// barrier behind it that made the matrix visible; on return the matrix is visible to all, unless a pivot was zero.
  __device__ int invert() const {
    for (int first = 0; first < n; first += panel_width) {
      const int width = min(panel_width, n - first);
      load_panel(first, width);
      for (int l = 0; l < width; ++l)
        if (!eliminate_column(first, l, width)) return first + l + 1;
      gather_pivot_rows(first, width);
      update(first, width);
    }
    interchange_columns();
    return 0;
  }

 private:
  __device__ C& panel_at(int i, int l) const { return panel[i + l * n]; }

  __device__ void load_panel(int first, int width) const {
    for (int i = thread(); i < n; i += threads())
      for (int l = 0; l < width; ++l) panel_at(i, l) = a[i + static_cast<offset_t>(first + l) * ld];
    __syncthreads();
  }

  /// Step k = first + l within the panel. False if its pivot is exactly zero.
  __device__ bool eliminate_column(int first, int l, int width) const {
    const int k = first + l;
    if (thread() < 32) find_pivot(k, l);
    __syncthreads();
    if (*magnitude == R(0)) return false;
    if (thread() < width) exchange_in_panel(k, pivots[k], thread());
    __syncthreads();
    const C inverse = detail::reciprocal(pivot_row[l]);
    for (int i = thread(); i < n; i += threads()) {
      const bool is_pivot = i == k;
      const C factor = is_pivot ? -inverse : panel_at(i, l) * inverse;
      for (int j = 0; j < width; ++j) {
        const C kept = is_pivot ? C{} : panel_at(i, j);
        panel_at(i, j) = kept - factor * pivot_row[j];
      }
      panel_at(i, l) = is_pivot ? inverse : -factor;
    }
    __syncthreads();
    return true;
  }

  /// By the first warp.
  __device__ void find_pivot(int k, int l) const {
    const auto lanes = Lanes<32>::current();
    PivotCandidate<R> best{R(-1), n};
    for (int i = k + lanes.rank; i < n; i += 32) {
      const R candidate = pivot_magnitude(panel_at(i, l));
      if (candidate > best.magnitude) best = {candidate, i};
    }
    best = best_pivot(lanes, best);
    if (lanes.rank == 0) {
      *magnitude = best.magnitude;
      pivots[k] = best.order;
    }
  }

  /// Rows k and p of one panel column; keeps what is now in row k.
  __device__ void exchange_in_panel(int k, int p, int column) const {
    const C value = panel_at(p, column);
    panel_at(p, column) = panel_at(k, column);
    panel_at(k, column) = value;
    pivot_row[column] = value;
  }

  /// Applies the panel's interchanges to the other columns and copies the pivot rows.
  __device__ void gather_pivot_rows(int first, int width) const {
    for (int j = thread(); j < n; j += threads()) {
      C* column = a + static_cast<offset_t>(j) * ld;
      const bool in_panel = j >= first && j < first + width;
      if (!in_panel) {
        for (int k = first; k < first + width; ++k) {
          const int p = pivots[k];
          if (p == k) continue;
          const C value = column[p];
          column[p] = column[k];
          column[k] = value;
        }
      }
      for (int l = 0; l < width; ++l)
        pivot_rows[l * n + j] = in_panel ? detail::from_real<C>(R(j == first + l)) : column[first + l];
    }
    __syncthreads();
  }

  /// The update of rank w, a warp for each tile of 64 rows and column_tile columns.
  __device__ void update(int first, int width) const {
    constexpr int tile_rows = 32 * row_tile;
    const int lane = thread() % 32;
    const int row_tiles = (n + tile_rows - 1) / tile_rows;
    const int tiles = row_tiles * ((n + column_tile - 1) / column_tile);
    for (int t = thread() / 32; t < tiles; t += threads() / 32)
      update_tile(first, width, t % row_tiles * tile_rows + lane, t / row_tiles * column_tile);
    __syncthreads();
  }

  __device__ void update_tile(int first, int width, int row0, int column0) const {
    C sum[row_tile][column_tile];
    int row[row_tile];
    int column[column_tile];
#pragma unroll
    for (int r = 0; r < row_tile; ++r) row[r] = min(row0 + 32 * r, n - 1);
#pragma unroll
    for (int c = 0; c < column_tile; ++c) column[c] = min(column0 + c, n - 1);
#pragma unroll
    for (int c = 0; c < column_tile; ++c)
#pragma unroll
      for (int r = 0; r < row_tile; ++r) {
        const bool inside = row0 + 32 * r < n && column0 + c < n;
        const bool replaced =
            (row[r] >= first && row[r] < first + width) || (column[c] >= first && column[c] < first + width);
        sum[r][c] = inside && !replaced ? a[row[r] + static_cast<offset_t>(column[c]) * ld] : C{};
      }
    for (int l = 0; l < width; ++l) {
      C p[row_tile];
#pragma unroll
      for (int r = 0; r < row_tile; ++r) p[r] = panel_at(row[r], l);
#pragma unroll
      for (int c = 0; c < column_tile; ++c) {
        const C b = pivot_rows[l * n + column[c]];
#pragma unroll
        for (int r = 0; r < row_tile; ++r) sum[r][c] += p[r] * b;
      }
    }
#pragma unroll
    for (int c = 0; c < column_tile; ++c)
#pragma unroll
      for (int r = 0; r < row_tile; ++r)
        if (row0 + 32 * r < n && column0 + c < n) a[row[r] + static_cast<offset_t>(column[c]) * ld] = sum[r][c];
  }

  /// Rows were exchanged on the way in, so columns are on the way out, last step first. A thread keeps to its rows.
  __device__ void interchange_columns() const {
    for (int i = thread(); i < n; i += threads())
      for (int k = n - 1; k >= 0; --k) {
        const int p = pivots[k];
        if (p == k) continue;
        C& x = a[i + static_cast<offset_t>(k) * ld];
        C& y = a[i + static_cast<offset_t>(p) * ld];
        const C value = x;
        x = y;
        y = value;
      }
    __syncthreads();
  }
};

}  // namespace blockjacobi::kernels
