#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/block_rows.cuh"

namespace blockjacobi::kernels {

/// Inverse of one n x n matrix from its LU factorization, in place, by a thread block: U^-1 from left to right, then
/// X = U^-1 L^-1 from right to left, by panels of W columns. A thread holds the rows thread, thread + threads, ... of
/// the panel at work. A panel takes all its updates just before it is solved for (delayed correction): its own old rows
/// are staged in shared memory, the finished columns are read once a panel. No thread waits for the solution of
/// another.
template <class C, int W, int R>
struct BlockLuInverse {
  using Row = Rows<C, W>;
  static constexpr int depth = 8;  ///< columns under way
  static_assert(W % depth == 0);

  detail::MatrixRef<C> a;  ///< L and U, then the inverse but for the order of its columns
  C* staged;               ///< rounded_rows(n) rows of the panel
  C* reciprocals;          ///< W: of the diagonal of U in the panel

  __host__ __device__ static constexpr int rounded_rows(int n) { return (n + W - 1) / W * W; }
  __host__ __device__ static constexpr std::size_t scratch_bytes(int n) {
    return static_cast<std::size_t>(rounded_rows(n) * Row::stride + W) * sizeof(C);
  }

  __device__ BlockLuInverse(const detail::MatrixRef<C>& a_, unsigned char* scratch) : a(a_) {
    staged = reinterpret_cast<C*>(scratch);
    reciprocals = staged + rounded_rows(a.rows) * Row::stride;
  }

  /// The diagonal of U must have no zero. All threads; the result is visible to all on return.
  __device__ void run() const {
    C x[R][W];
#pragma unroll 1
    for (int first = 0; first < a.rows; first += W) invert_upper_panel(first, x);
#pragma unroll 1
    for (int first = (a.rows - 1) / W * W; first >= 0; first -= W) solve_lower_panel(first, x);
    __syncthreads();
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int place(int r) { return thread() + r * threads(); }
  __device__ static int first_place(int r) { return place(r) & ~31; }

  /// Stages rows from..to - 1 of the panel; unit rows behind the matrix.
  __device__ void stage(int first, int from, int to) const {
    __syncthreads();
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r);
      if (i < from || i >= to) continue;
      C row[W];
#pragma unroll
      for (int c = 0; c < W; ++c)
        row[c] = i < a.rows && first + c < a.rows ? a(i, first + c) : detail::from_real<C>(i == first + c);
      Row::write(staged + i * Row::stride, row);
    }
    // Rows behind the last thread's: at most W of one panel.
#pragma unroll 1
    for (int i = max(from, R * threads()) + thread(); i < to; i += threads())
#pragma unroll 1
      for (int c = 0; c < W; ++c) staged[i * Row::stride + c] = detail::from_real<C>(i == first + c);
    __syncthreads();
  }

  __device__ void store(int first, const C (&x)[R][W], bool upper) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r);
      if (i >= a.rows) continue;
#pragma unroll
      for (int c = 0; c < W; ++c)
        if (first + c < a.rows && (!upper || i <= first + c)) a(i, first + c) = x[r][c];
    }
  }

  /// V = U^-1: V(:, J) = -V U(:, J) U_JJ^-1 above the panel's own rows, U_JJ^-1 in them.
  __device__ void invert_upper_panel(int first, C (&x)[R][W]) const {
    stage(first, 0, first + W);
    if (thread() < W) reciprocals[thread()] = detail::reciprocal(staged[(first + thread()) * Row::stride + thread()]);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int c = 0; c < W; ++c) x[r][c] = detail::from_real<C>(place(r) == first + c);
    if (first_place(0) >= first + W) return;
#pragma unroll 1
    for (int k = first_place(0); k < first; k += depth) subtract<true>(k, x);
    const C* const u = staged + first * Row::stride;
#pragma unroll
    for (int c = 0; c < W; ++c)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        x[r][c] = x[r][c] * reciprocals[c];
#pragma unroll
        for (int m = 0; m < W; ++m)
          if (m > c) x[r][m] = fused_subtract(x[r][m], x[r][c], u[c * Row::stride + m]);
      }
    store(first, x, true);
  }

  /// X(:, J) = (V(:, J) - X L(:, J)) L_JJ^-1, with the columns of X behind the panel.
  __device__ void solve_lower_panel(int first, C (&x)[R][W]) const {
    const int rows = rounded_rows(a.rows);
    stage(first, first, rows);
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int c = 0; c < W; ++c) x[r][c] = place(r) <= first + c && first + c < a.rows ? a(place(r), first + c) : C{};
#pragma unroll 1
    for (int k = first + W; k < rows; k += depth) subtract<false>(k, x);
    const C* const l = staged + first * Row::stride;
#pragma unroll
    for (int c = W - 1; c >= 0; --c)
#pragma unroll
      for (int r = 0; r < R; ++r)
#pragma unroll
        for (int m = 0; m < W; ++m)
          if (m < c) x[r][m] = fused_subtract(x[r][m], x[r][c], l[c * Row::stride + m]);
    store(first, x, false);
  }

  /// Columns k..k + depth - 1 times the staged rows of these numbers.
  template <bool upper>
  __device__ void subtract(int k, C (&x)[R][W]) const {
    C factor[R][depth];
#pragma unroll
    for (int m = 0; m < depth; ++m)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        const bool inside = place(r) < a.rows && k + m < a.rows && (!upper || place(r) <= k + m);
        factor[r][m] = inside ? a(place(r), k + m) : C{};
      }
    Row::template subtract<0>(x, factor, staged + k * Row::stride);
  }
};

}  // namespace blockjacobi::kernels
