#pragma once

#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/copy_async.cuh"
#include "kernels/collectives/panel.cuh"
#include "kernels/collectives/product_tile.cuh"

#include <cuda_pipeline.h>

namespace blockjacobi::kernels {

/// Inverse of one n x n matrix from its LU factorization, by a thread block with a thread for each row, which may have
/// more: first V = -U^-1 from left to right, then X = -V L^-1 from right to left, by panels J of W columns. A panel
/// takes all its updates at once, just before it is written (delayed correction); with the columns K that are finished,
///   V(:, J) = V(:, K) (U(K, J) V_JJ),   X(:, J) = V(:, J) S_J + X(:, K) (L(K, J) S_J),   S_J = -L_JJ^-1.
///
/// The triangles V_JJ and S_J come first, all at once. In a panel each warp has its rows in registers, as sums of the
/// tensor cores: what is there times the triangle, of which the rows K go through shared memory to all warps, then the
/// products. It reads only its own rows of the matrices, some pieces ahead.
///
/// Column l of the result is column place[l] of x, and so is column l of V and of the triangles, so that the
/// interchange of columns costs nothing, unless x is the matrix of the factors: then place[l] must be l.
template <class C, int W>
struct CtaLuInverse {
  using Product = ProductTile<C, W>;
  static constexpr int depth = Product::depth;
  static constexpr int triangle_ld = W + Vector16<C>::size;  ///< aligned rows, few bank conflicts
  static_assert(32 % W == 0 && triangle_ld * W * sizeof(C) <= Product::staged * sizeof(double));

  detail::MatrixRef<const C> lu;
  detail::MatrixRef<C> x;
  const int* place;  ///< in shared memory
  int stages;        ///< pieces that a warp has in shared memory
  double* staged;    ///< the triangle, then the rows K, or all triangles
  C* pieces;         ///< of this warp
  bool aligned;      ///< whether all columns are aligned to 16 bytes and end so

  __host__ __device__ static constexpr int warps(int n) { return (n + 31) / 32; }
  __host__ __device__ static constexpr int staged_elements(int n) { return warps(n) * (32 / W) * Product::staged; }
  __host__ __device__ static constexpr std::size_t scratch_bytes(int n, int stages) {
    return static_cast<std::size_t>(staged_elements(n)) * sizeof(double) +
           static_cast<std::size_t>(warps(n) * stages * Product::piece) * sizeof(C);
  }

  /// `scratch`: scratch_bytes(), aligned to 16 bytes.
  __device__ CtaLuInverse(const detail::MatrixRef<const C>& lu_, const detail::MatrixRef<C>& x_, const int* place_,
                          unsigned char* scratch, int stages_)
      : lu(lu_), x(x_), place(place_), stages(stages_), staged(reinterpret_cast<double*>(scratch)) {
    constexpr int size = Vector16<C>::size;
    pieces = reinterpret_cast<C*>(staged + staged_elements(lu.rows)) + warp() * stages * Product::piece;
    const auto address = reinterpret_cast<std::uintptr_t>(lu.data) | reinterpret_cast<std::uintptr_t>(x.data);
    aligned = address % 16 == 0 && lu.ld % size == 0 && x.ld % size == 0 && lu.rows % size == 0;
  }

  /// The diagonal of U must have no zero. All threads, which have passed a barrier since `place` was written; the
  /// result is visible to all on return.
  __device__ void run() const {
    if (top() < n()) {
      clear_pieces();
      invert_triangles();
    }
    __syncthreads();
#pragma unroll 1
    for (int first = W; first < n(); first += W) solve_panel<true>(first);
#pragma unroll 1
    for (int first = (n() - 1) / W * W; first >= 0; first -= W) solve_panel<false>(first);
    __syncthreads();
  }

 private:
  __device__ static int lane() { return static_cast<int>(threadIdx.x) % 32; }
  __device__ static int warp() { return static_cast<int>(threadIdx.x) / 32; }
  /// The first row of this warp.
  __device__ static int top() { return 32 * warp(); }
  __device__ int n() const { return lu.rows; }
  __device__ C* column(int l) const { return column_of(x, place[l]); }

  /// Rows behind the matrix stay zero.
  __device__ void clear_pieces() const {
    if (top() + lane() >= n())
      for (int c = 0; c < stages * depth; ++c) pieces[c * Product::ld + lane()] = C{};
  }

  /// The triangles on the diagonal in the rows of this warp, a row a lane: -U_JJ^-1 and below it -L_JJ^-1 but for its
  /// diagonal, to x. What is behind the matrix is like the identity.
  __device__ void invert_triangles() const {
    const int own = lane() % W, first = top() + lane() - own, row = first + own;
    C* const triangle = reinterpret_cast<C*>(staged + first / W * Product::staged);  // by rows
#pragma unroll 8
    for (int c = 0; c < W; ++c)
      triangle[own * triangle_ld + c] =
          row < n() && first + c < n() ? lu(row, first + c) : detail::from_real<C>(c == own);
    C& diagonal = triangle[own * triangle_ld + own];
    diagonal = detail::reciprocal(diagonal);
    __syncwarp();
    C solution[W];
    make_negative_unit(solution, own);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      solution[k] = solution[k] * triangle[k * triangle_ld + k];
      eliminate(solution, k, k + 1, W, triangle + k * triangle_ld);
    }
    __syncwarp();
#pragma unroll
    for (int c = 0; c < W; ++c)
      if (c >= own) triangle[own * triangle_ld + c] = solution[c];
    __syncwarp();
    make_negative_unit(solution, own);
#pragma unroll
    for (int k = W - 1; k >= 0; --k) eliminate(solution, k, 0, k, triangle + k * triangle_ld);
    __syncwarp();
#pragma unroll
    for (int c = 0; c < W; ++c)
      if (c < own) triangle[own * triangle_ld + c] = solution[c];
    if (row < n())
#pragma unroll 4
      for (int c = 0; c < min(W, n() - first); ++c) column(first + c)[row] = triangle[own * triangle_ld + c];
    __syncwarp();
  }
  __device__ static void make_negative_unit(C (&solution)[W], int number) {
#pragma unroll
    for (int c = 0; c < W; ++c) solution[c] = detail::from_real<C>(c == number ? -1 : 0);
  }
  /// Step k for the columns begin..end - 1. The barriers keep the compiler from fetching too much too early, for which
  /// there are no registers.
  __device__ static void eliminate(C (&solution)[W], int k, int begin, int end, const C* row) {
    constexpr int size = Vector16<C>::size;
#pragma unroll
    for (int p = 0; p < W / size; ++p) {
      if ((p + 1) * size <= begin || p * size >= end) continue;
      if (p % 4 == 0) __syncwarp();
      const auto part = reinterpret_cast<const Vector16<C>*>(row)[p];
#pragma unroll
      for (int v = 0; v < size; ++v) {
        const int c = p * size + v;
        if (c >= begin && c < end) solution[c] = fused_subtract(solution[c], solution[k], part.value[v]);
      }
    }
  }

  /// Of the panel, by the warp that has its rows.
  template <bool Upper>
  __device__ void stage_triangle(int first) const {
    const int row = lane() % W;
#pragma unroll 8
    for (int c = lane() / W; c < W; c += 32 / W) {
      const bool inside = Upper ? row <= c : row > c;
      C value{};
      if (inside && first + row < n() && first + c < n()) value = column(first + c)[first + row];
      if (!Upper && row == c) value = detail::from_real<C>(-1);
      Product::put(staged, row, c, value);
    }
  }

  /// Starts to copy the columns from `l` on of what is multiplied with the triangle (Own) or with the rows K, and
  /// counts as one piece.
  template <bool Upper, bool Own>
  __device__ void fetch(int first, int l, int end, C* to) const {
    constexpr int size = Vector16<C>::size;
    const bool on_diagonal = Upper ? top() + 32 > l : Own && top() < first + W && top() + 32 > first;
    const bool of_factors = Own && (Upper || top() > first);
    const auto from = [&](int c) {
      return of_factors ? column_of(lu, min(l + c, n() - 1)) : column(min(l + c, n() - 1));
    };
    if (l < end && on_diagonal) {
      fetch_on_diagonal<Upper, Own>(first, l, to);
    } else if (l < end && aligned) {
      const int row = lane() % (32 / size) * size;
      if (top() + row < n())
#pragma unroll
        for (int c = lane() * size / 32; c < depth; c += size)
          __pipeline_memcpy_async(to + c * Product::ld + row, from(c) + top() + row, 16);
    } else if (l < end && top() + lane() < n()) {
#pragma unroll
      for (int c = 0; c < depth; ++c) copy_async(to + c * Product::ld + lane(), from(c) + top() + lane());
    }
    __pipeline_commit();
  }

  /// The same where rows of this warp meet the diagonal: below it V is zero.
  template <bool Upper, bool Own>
  __device__ void fetch_on_diagonal(int first, int l, C* to) const {
    const int row = top() + lane();
    const bool triangular = Upper || row < first + W, of_factors = Own && (Upper || row >= first + W);
    if (row < n())
#pragma unroll 1
      for (int c = 0; c < depth; ++c) {
        const int j = min(l + c, n() - 1);
        C* const element = to + c * Product::ld + lane();
        if (triangular && row > j)
          *element = C{};
        else
          copy_async(element, (of_factors ? column_of(lu, j) : column(j)) + row);
      }
  }

  /// The panel of V if Upper, else of X.
  template <bool Upper>
  __device__ void solve_panel(int first) const {
    const int begin = Upper ? top() : first + W, end = Upper ? first : n(), rows = Upper ? first : n();
    const bool has_rows = top() < rows;
    if (top() <= first && first < top() + 32) stage_triangle<Upper>(first);
    const int ahead = (stages - 1) * depth;
    const auto fetch_either = [&](int c, C* to) {
      if (c < W)
        fetch<Upper, true>(first, first + c, first + W, to);
      else
        fetch<Upper, false>(first, begin + c - W, end, to);
    };
    if (has_rows)
      for (int c = 0; c < ahead; c += depth) fetch_either(c, pieces + c / depth * Product::piece);
    __syncthreads();
    Product tile{};
    const C* piece = pieces;
    C* free = pieces + (stages - 1) * Product::piece;
    const auto add = [&](const double* b, auto fetch_next) {
      if (stages > 1) __pipeline_wait_prior(stages - 2);
      __syncwarp();
      fetch_next(free);
      if (stages == 1) {
        __pipeline_wait_prior(0);
        __syncwarp();
      }
      tile.add(piece, Product::ld, Product::rows, b);
      free = const_cast<C*>(piece);
      piece = piece == pieces + (stages - 1) * Product::piece ? pieces : piece + Product::piece;
    };
    const int first_staged = Upper ? -W : first;  // the rows K stand behind the triangle
    if (has_rows) {
#pragma unroll 1
      for (int c = 0; c < W; c += depth) add(staged + c * Product::stride, [&](C* to) { fetch_either(c + ahead, to); });
#pragma unroll
      for (int t = 0; t < Product::rows; ++t) {
        const int row = top() + Product::row(t), below = row - first_staged;
        if (Upper ? row < first : row >= first + W) tile.move_row(t, staged + below / W * Product::staged, below % W);
      }
    }
    __syncthreads();
    if (!has_rows) return;
#pragma unroll 1
    for (int l = begin; l < end; l += depth) {
      const int below = l - first_staged;
      add(staged + below / W * Product::staged + below % W * Product::stride,
          [&](C* to) { fetch<Upper, false>(first, l + ahead, end, to); });
    }
    store(tile, first, rows);
  }

  __device__ void store(const Product& tile, int first, int rows) const {
    __pipeline_wait_prior(0);
    __syncwarp();
#pragma unroll
    for (int c = 0; c < Product::groups; ++c)
#pragma unroll
      for (int v = 0; v < 2; ++v) {
        const int l = first + Product::column(c, v);
        if (l >= n()) continue;
        C* const to = column(l);
#pragma unroll
        for (int t = 0; t < Product::rows; ++t) {
          const int row = top() + Product::row(t);
          if (row < rows) to[row] = tile.rounded(t, c, v);
        }
      }
    __syncwarp();
  }
};

}  // namespace blockjacobi::kernels
