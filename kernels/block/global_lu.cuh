#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/panel_lu.cuh"
#include "kernels/subwarp/extract.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// LU factorization with partial pivoting of one n x n matrix in global memory by a thread block (one-dimensional,
/// n <= R threads), right-looking by panels of 32 columns in shared memory.
///
/// A panel is factored by PanelLu, which says how its rows moved. Then the columns right of it are taken 64 at a time:
/// their rows of U go through shared memory, where they are multiplied by the inverse of the panel's triangle, while
/// the rows that leave take their places; the product of panel and U is subtracted from what is below. Left of a panel
/// nothing is read again, so that those columns are put in order once at the end.
template <class C, int R>
struct GlobalLu {
  static constexpr bool wide = sizeof(C) > 8;
  static constexpr int width = wide ? 16 : 32, tile_columns = wide ? 8 : 16, chunk = 4 * tile_columns;
  using Lu = PanelLu<C, R>;
  using Tile = UpdateTile<C, tile_columns>;
  static constexpr int stride = Tile::conflict_free_stride(chunk), inverse_ld = width + 4;

  int n;
  Lu lu;
  C* staged;    ///< width rows of `chunk` columns
  C* inverse;   ///< of the panel's triangle
  int* source;  ///< n: of each row of a panel, where it was, from the first of the panel
  int* target;  ///< n: of each row that was there, where it went if not into the panel, else -1
  int* order;   ///< n: see finish()

  __host__ __device__ static constexpr std::size_t bytes(int n) {
    const auto order = static_cast<std::size_t>(n);
    return Lu::candidate_count(n) * sizeof(typename Lu::Candidate) + sizeof(typename Lu::Moves) +
           static_cast<std::size_t>(width * (Lu::leading_dimension(n) + stride + inverse_ld)) * sizeof(C) +
           (5 * order + 1) * sizeof(int);
  }

  __device__ GlobalLu(unsigned char* shared, int n_) : n(n_) {
    lu.ld = Lu::leading_dimension(n);
    lu.candidates = reinterpret_cast<typename Lu::Candidate*>(shared);
    lu.moves = reinterpret_cast<typename Lu::Moves*>(lu.candidates + Lu::candidate_count(n));
    staged = reinterpret_cast<C*>(lu.moves + 1);
    inverse = staged + width * stride;
    lu.a = inverse + width * inverse_ld;
    lu.info = reinterpret_cast<int*>(lu.a + width * lu.ld);
    lu.origin = lu.info + 1;
    lu.pivots = lu.origin + n;
    source = lu.pivots + n;
    target = source + n;
    order = target + n;
  }

  /// In place; pivots and info are in shared memory on return, visible to all.
  __device__ void run(const detail::MatrixRef<C>& a) const {
    if (thread() == 0) *lu.info = 0;
#pragma unroll 1
    for (int first = 0; first < n; first += width) {
      factor_panel(a, first);
      if (first + width >= n) break;
      invert_triangle();
      __syncthreads();
#pragma unroll 1
      for (int begin = first + width; begin < n; begin += chunk) update(a, first, begin);
    }
    finish(a);
  }

  __device__ static int thread() { return Lu::thread(); }
  __device__ static int threads() { return Lu::threads(); }
  __device__ static int lane() { return Lu::lane(); }
  __device__ static int warp() { return Lu::warp(); }
  __device__ static int warps() { return Lu::warps(); }

 private:
  __device__ void factor_panel(const detail::MatrixRef<C>& a, int first) const {
    Lu panel = lu;
    panel.rows = n - first;
    panel.columns = min(width, n - first);
    panel.pivots = lu.pivots + first;
    const int info = thread() == 0 ? *lu.info : 0;
    for_columns(panel.columns, panel.rows,
                [&](int i, int c) { copy_async(&panel.at(i, c), &a(first + i, first + c)); });
    __pipeline_commit();
    for (int i = thread(); i < panel.rows; i += threads()) lu.origin[i] = i;
    __pipeline_wait_prior(0);
    __syncthreads();
    if (thread() == 0) *lu.info = 0;
    panel.run();
    __syncthreads();
    for (int k = thread(); k < panel.columns; k += threads()) {
      panel.pivots[k] += first;
      source[first + k] = lu.origin[k];
      target[first + k] = -1;
    }
    if (thread() == 0) *lu.info = info != 0 ? info : *lu.info != 0 ? *lu.info + first : 0;
    for_columns(panel.columns, panel.rows, [&](int i, int c) { a(first + i, first + c) = panel.at(i, c); });
    __syncthreads();
    for (int i = panel.columns + thread(); i < panel.rows; i += threads())
      if (lu.origin[i] < panel.columns) target[first + lu.origin[i]] = i;
  }

  /// visit(row, column), a warp for a column.
  template <class Visit>
  __device__ static void for_columns(int columns, int rows, Visit visit) {
#pragma unroll 1
    for (int c = warp(); c < columns; c += warps())
#pragma unroll 4
      for (int i = lane(); i < rows; i += 32) visit(i, c);
  }

  /// By a warp, a column a lane.
  __device__ void invert_triangle() const {
    const int own_column = thread() - (threads() - 32);
    if (own_column < 0 || own_column >= width) return;
    constexpr int size = 8;
    C* const own = inverse + own_column * inverse_ld;
#pragma unroll 1
    for (int b = 0; b < width; b += size) {
      C y[size];
#pragma unroll
      for (int i = 0; i < size; ++i) y[i] = detail::from_real<C>(b + i == own_column);
#pragma unroll 4
      for (int s = 0; s < b; ++s) {
        const C above = own[s];
#pragma unroll
        for (int i = 0; i < size; ++i) y[i] = fused_subtract(y[i], lu.at(b + i, s), above);
      }
#pragma unroll
      for (int s = 0; s < size; ++s)
#pragma unroll
        for (int i = s + 1; i < size; ++i) y[i] = fused_subtract(y[i], lu.at(b + i, b + s), y[s]);
#pragma unroll
      for (int i = 0; i < size; ++i) own[b + i] = y[i];
    }
  }

  /// The columns from `begin` on, `chunk` of them.
  __device__ void update(const detail::MatrixRef<C>& a, int first, int begin) const {
    const int columns = min(chunk, n - begin);
    exchange(a, first, begin, columns);
    __syncthreads();
    multiply(columns);
    __syncthreads();
#pragma unroll 4
    for (int j = own_column(); j < columns; j += column_step())
      a(first + own_row(), begin + j) = staged[own_row() * stride + Tile::place(j)];
    subtract(a, first, begin, columns);
    __syncthreads();
  }

  // A row of the panel a lane.
  __device__ static int own_row() { return lane() % width; }
  __device__ static int own_column() { return thread() / width; }
  __device__ static int column_step() { return threads() / width; }

  /// The rows that come into the panel to shared memory, those that leave it to their places.
  __device__ void exchange(const detail::MatrixRef<C>& a, int first, int begin, int columns) const {
    constexpr int together = 4;
    const int from = source[first + own_row()], to = target[first + own_row()];
#pragma unroll 1
    for (int j = own_column(); j < chunk; j += together * column_step()) {
      C coming[together], leaving[together];
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const int c = j + t * column_step();
        coming[t] = c < columns ? a(first + from, begin + c) : C{};
        leaving[t] = c < columns && to >= 0 ? a(first + own_row(), begin + c) : C{};
      }
      __syncwarp();
#pragma unroll
      for (int t = 0; t < together; ++t) {
        const int c = j + t * column_step();
        if (c < columns && to >= 0) a(first + to, begin + c) = leaving[t];
        if (c < chunk) staged[own_row() * stride + Tile::place(c)] = coming[t];
      }
    }
  }

  /// U = L^-1 times what is staged, in its place; a tile a warp.
  __device__ void multiply(int columns) const {
    Tile product{};
    const int j = tile_columns * warp();
    if (j < columns) {
      int row[Tile::rows];
#pragma unroll
      for (int r = 0; r < Tile::rows; ++r) row[r] = Tile::row(r) % width;
#pragma unroll 1
      for (int k = 0; k < width; k += Tile::depth) {
        const auto left = Tile::load_left([&](int i, int m) { return inverse[i + (k + m) * inverse_ld]; }, row);
        product.add(left, staged + k * stride + j, stride);
      }
    }
    __syncthreads();
    if (j < columns)
      product.for_each([&](int r, int c, C& x) {
        if (Tile::row(r) < width) staged[Tile::row(r) * stride + Tile::place(j + c)] = x;
      });
  }

  /// The product of the panel and U from what is below. Rows of tiles behind the matrix take what follows the panel in
  /// shared memory, and are not stored.
  __device__ void subtract(const detail::MatrixRef<C>& a, int first, int begin, int columns) const {
    constexpr int across = chunk / tile_columns;
    const int height = n - first, tiles = (height - width + 31) / 32 * across;
    int row[Tile::rows];
#pragma unroll
    for (int r = 0; r < Tile::rows; ++r) row[r] = 8 * r;
#pragma unroll 1
    for (int u = warp(); u < tiles; u += warps()) {
      const int i = width + u / across * 32 + Tile::row(0), j = u % across * tile_columns;
      if (j >= columns) continue;
      const int rows = (height - i + 7) / 8, right = columns - j;  // what exists
      C* const own = &a(first + i, begin + j);
      const C* const panel = &lu.at(i, 0);
      Tile tile;
      tile.for_each([&](int r, int c, C& x) { x = r < rows && c < right ? own[8 * r + a.ld * offset_t(c)] : C{}; });
#pragma unroll 1
      for (int k = 0; k < width; k += Tile::depth) {
        const auto left = Tile::load_left([&](int l, int m) { return -panel[l + (k + m) * lu.ld]; }, row);
        tile.add(left, staged + k * stride + j, stride);
      }
      tile.for_each([&](int r, int c, C& x) {
        if (r < rows && c < right) own[8 * r + a.ld * offset_t(c)] = x;
      });
    }
  }

  /// Rows of L as all later panels moved them: from the last panel to the first, `order` says which row of the panel's
  /// own order is at a position in the end.
  __device__ void finish(const detail::MatrixRef<C>& a) const {
    for (int i = thread(); i < n; i += threads()) order[i] = i;
#pragma unroll 1
    for (int first = (n - 1) / width * width; first > 0; first -= width) {
      const int height = min(width, n - first);
      for (int i = thread(); i < n; i += threads()) lu.origin[i] = i;
      __syncthreads();
      for (int k = thread(); k < height; k += threads()) {
        lu.origin[first + k] = first + source[first + k];
        if (target[first + k] >= 0) lu.origin[first + target[first + k]] = first + k;
      }
      __syncthreads();
      for (int i = first + thread(); i < n; i += threads()) order[i] = lu.origin[order[i]];
      __syncthreads();
      C* const buffer = lu.a + warp() * n;
#pragma unroll 1
      for (int c = first - width + warp(); c < first; c += warps()) {
        C* const column = a.column(c);
#pragma unroll 4
        for (int i = first + lane(); i < n; i += 32) buffer[i] = column[i];
        __syncwarp();
#pragma unroll 4
        for (int i = first + lane(); i < n; i += 32) column[i] = buffer[order[i]];
        __syncwarp();
      }
    }
    __syncthreads();
  }
};

}  // namespace blockjacobi::kernels
