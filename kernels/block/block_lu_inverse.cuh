#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/panel_tile.cuh"

namespace blockjacobi::kernels {

/// Inverse of one n x n matrix from its LU factorization, in place, by a thread block with a thread for each row: first
/// V = U^-1 from left to right, then X = V L^-1 from right to left, by panels J of W columns. A panel takes all its
/// updates at once, just before it is written (delayed correction); with the columns K that are finished,
///   V(:, J) = -V(:, K) (U(K, J) U_JJ^-1),   X(:, J) = V(:, J) L_JJ^-1 - X(:, K) (L(K, J) L_JJ^-1).
/// The factors in brackets are staged in shared memory, a row a thread; the rest is products of 32 rows a warp. No
/// thread waits for the solution of another.
template <class C, int W>
struct BlockLuInverse {
  using Row = Rows<C, W>;
  using Tile = PanelTile<C, W>;

  detail::MatrixRef<C> a;  ///< L and U, then the inverse but for the order of its columns
  C* staged;               ///< rounded_rows(n) rows
  C* triangle;             ///< W rows: the panel's own, of L and U
  C* reciprocals;          ///< W: of the diagonal of U in the panel

  __host__ __device__ static constexpr int rounded_rows(int n) { return (n + W - 1) / W * W; }
  __host__ __device__ static constexpr std::size_t scratch_bytes(int n) {
    return static_cast<std::size_t>((rounded_rows(n) + W) * Row::stride + W) * sizeof(C);
  }

  __device__ BlockLuInverse(const detail::MatrixRef<C>& a_, unsigned char* scratch) : a(a_) {
    staged = reinterpret_cast<C*>(scratch);
    triangle = staged + rounded_rows(a.rows) * Row::stride;
    reciprocals = triangle + W * Row::stride;
  }

  /// The diagonal of U must have no zero. All threads; the result is visible to all on return.
  __device__ void run() const {
#pragma unroll 1
    for (int first = 0; first < a.rows; first += W) invert_upper_panel(first);
#pragma unroll 1
    for (int first = (a.rows - 1) / W * W; first >= 0; first -= W) solve_lower_panel(first);
    __syncthreads();
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  /// The first row of this warp.
  __device__ static int first_row() { return thread() & ~31; }

  /// This thread's row of the panel, those behind the matrix like the identity.
  __device__ void load_row(int first, C (&row)[W]) const {
#pragma unroll
    for (int c = 0; c < W; ++c)
      row[c] = thread() < a.rows && first + c < a.rows ? a(thread(), first + c)
                                                       : detail::from_real<C>(thread() == first + c);
  }

  /// Shares the panel's own rows; then all threads may read them and write staged rows.
  __device__ void share_triangle(int first, const C (&row)[W]) const {
    const int i = thread() - first;
    __syncthreads();
    if (i >= 0 && i < W) {
      Row::write(triangle + i * Row::stride, row);
      C diagonal{};
#pragma unroll
      for (int c = 0; c < W; ++c)
        if (c == i) diagonal = row[c];
      reciprocals[i] = detail::reciprocal(diagonal);
    }
    __syncthreads();
  }

  /// row U_JJ^-1.
  __device__ void divide_by_upper(C (&row)[W]) const {
#pragma unroll
    for (int c = 0; c < W; ++c) {
      row[c] = row[c] * reciprocals[c];
#pragma unroll
      for (int m = 0; m < W; ++m)
        if (m > c) row[m] = fused_subtract(row[m], row[c], triangle[c * Row::stride + m]);
    }
  }

  /// row L_JJ^-1.
  __device__ void divide_by_lower(C (&row)[W]) const {
#pragma unroll
    for (int c = W - 1; c >= 0; --c)
#pragma unroll
      for (int m = 0; m < W; ++m)
        if (m < c) row[m] = fused_subtract(row[m], row[c], triangle[c * Row::stride + m]);
  }

  __device__ static void make_unit(C (&row)[W], int number) {
#pragma unroll
    for (int c = 0; c < W; ++c) row[c] = detail::from_real<C>(c == number);
  }

  /// V(row, column), which is zero below the diagonal, where L stands.
  __device__ C upper(int row, int column) const { return row <= column && column < a.rows ? a(row, column) : C{}; }

  __device__ void invert_upper_panel(int first) const {
    const int own = thread() - first;
    C row[W];
    load_row(first, row);
    share_triangle(first, row);
    if (own < W) {
      if (own >= 0) make_unit(row, own);
      divide_by_upper(row);
      if (own < 0) Row::write(staged + thread() * Row::stride, row);
    }
    __syncthreads();
    if (own >= 0 && own < W && thread() < a.rows)
#pragma unroll
      for (int c = 0; c < W; ++c)
        if (c >= own && first + c < a.rows) a(thread(), first + c) = row[c];
    if (first_row() >= first) return;
    Tile tile{};
#pragma unroll 1
    for (int k = first_row(); k < first; k += W)
      tile.subtract([&](int i, int c) { return upper(first_row() + i, k + c); }, staged + k * Row::stride, 0);
    tile.for_each([&](int i, int c, C& x) {
      if (first_row() + i < first && first + c < a.rows) a(first_row() + i, first + c) = x;
    });
  }

  __device__ void solve_lower_panel(int first) const {
    const int own = thread() - first;
    C row[W];
    load_row(first, row);
    share_triangle(first, row);
    if (own >= 0) {
      if (own < W) make_unit(row, own);
      if (own >= W && thread() >= a.rows) make_unit(row, -1);
      divide_by_lower(row);
      if (thread() < rounded_rows(a.rows)) Row::write(staged + thread() * Row::stride, row);
    }
    __syncthreads();
    Tile tile{};
    if (first_row() < first + W)
      tile.subtract([&](int i, int c) { return -upper(first_row() + i, first + c); }, staged + first * Row::stride, 0);
#pragma unroll 1
    for (int k = first + W; k < a.rows; k += W)
      tile.subtract(
          [&](int i, int c) {
            const int j = first_row() + i;
            return j < a.rows && k + c < a.rows ? a(j, k + c) : C{};
          },
          staged + k * Row::stride, 0);
    __syncwarp();  // the rows of the panel are read by other lanes of the warp than write them
    tile.for_each([&](int i, int c, C& x) {
      if (first_row() + i < a.rows && first + c < a.rows) a(first_row() + i, first + c) = x;
    });
  }
};

}  // namespace blockjacobi::kernels
