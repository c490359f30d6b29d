#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/block_rows.cuh"
#include "kernels/block/panel_store.cuh"
#include "kernels/subwarp/team.cuh"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::kernels {

/// The lower triangle of a Hermitian matrix, of which one triangle is stored.
template <class C>
struct StoredTriangle {
  C* data;
  offset_t row_stride, column_stride;
  bool upper;
  int n;

  __device__ StoredTriangle(const detail::MatrixRef<C>& a, batched::Triangle triangle)
      : data(a.data),
        row_stride(triangle == batched::Triangle::upper ? a.ld : 1),
        column_stride(triangle == batched::Triangle::upper ? 1 : a.ld),
        upper(triangle == batched::Triangle::upper),
        n(a.rows) {}

  __device__ C get(int i, int j) const {
    const C value = data[i * row_stride + j * column_stride];
    return upper ? detail::conj(value) : value;
  }
  __device__ void set(int i, int j, C value) const {
    data[i * row_stride + j * column_stride] = upper ? detail::conj(value) : value;
  }
};

/// Cholesky factorization A = L L^H of one n x n matrix in place by a thread block, left to right by panels of W
/// columns. A thread holds the rows thread, thread + threads, ... of the panel at work. Finished columns are read from
/// shared memory where they fit (cached), else from their place.
template <class C, int W, int R, bool cached>
struct BlockCholesky {
  using Row = Rows<C, W>;
  using Real = detail::arithmetic_real_t<C>;
  static constexpr int depth = 8;  ///< columns under way
  static_assert(W % depth == 0);

  StoredTriangle<C> a;
  int n;
  C* finished;        ///< cached: the panels of a TrapezoidStore
  C* staged;          ///< row k: conj(L(J, k)) for the columns k before the panel J
  C* triangle;        ///< W rows: the panel's own, then L_JJ
  C* adjoint;         ///< W rows: L_JJ^H
  Real* reciprocals;  ///< W: of the diagonal of L_JJ
  int* info;

  __host__ __device__ static constexpr std::size_t finished_elements(int n) {
    return cached ? static_cast<std::size_t>(TrapezoidStore<C, W>::elements(n) + 1) / 2 * 2 : 0;
  }
  __host__ __device__ static constexpr std::size_t shared_bytes(int n) {
    const auto rows = static_cast<std::size_t>((n + W - 1) / W * W);
    const std::size_t aligned = (finished_elements(n) * sizeof(C) + 15) / 16 * 16;
    return aligned + (rows + 2 * W) * Row::stride * sizeof(C) + W * sizeof(Real) + sizeof(int);
  }

  __device__ BlockCholesky(const StoredTriangle<C>& a_, unsigned char* shared) : a(a_), n(a_.n) {
    finished = reinterpret_cast<C*>(shared);
    staged = reinterpret_cast<C*>(shared + (finished_elements(n) * sizeof(C) + 15) / 16 * 16);
    triangle = staged + (n + W - 1) / W * W * Row::stride;
    adjoint = triangle + W * Row::stride;
    reciprocals = reinterpret_cast<Real*>(adjoint + W * Row::stride);
    info = reinterpret_cast<int*>(reciprocals + W);
  }

  /// Returns 0, or the order of the first leading minor that is not positive definite.
  __device__ int run() const {
    if (thread() == 0) *info = 0;
    __syncthreads();
    C x[R][W];
    for (int first = 0; first < n && *info == 0; first += W) {
      load(first, x);
      stage(first);
      __syncthreads();
#pragma unroll 1
      for (int k = 0; k < first; k += depth) subtract(first, k, x);
      exchange_triangle(first, x);
      solve(first, x);
      store(first, x);
      __syncthreads();
    }
    return *info;
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ static int place(int r) { return thread() + r * threads(); }

  __device__ C factor(int i, int k) const {
    if constexpr (cached)
      return TrapezoidStore<C, W>(finished, n).panel(k / W * W)(i, k % W);
    else
      return a.get(i, k);
  }

  __device__ void load(int first, C (&x)[R][W]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r);
#pragma unroll
      for (int c = 0; c < W; ++c) {
        const int j = first + c;
        x[r][c] = i >= j && i < n ? a.get(i, j) : C{};
        if (i == j) x[r][c] = detail::from_real<C>(i < n ? detail::real_part(x[r][c]) : Real(1));
      }
    }
  }

  __device__ void stage(int first) const {
#pragma unroll 1
    for (int k = thread(); k < first; k += threads()) {
      C row[W];
#pragma unroll
      for (int c = 0; c < W; ++c) row[c] = first + c < n ? detail::conj(factor(first + c, k)) : C{};
      Row::write(staged + k * Row::stride, row);
    }
  }

  __device__ void subtract(int first, int k, C (&x)[R][W]) const {
    if ((place(R - 1) | 31) < first) return;
    C l[R][depth];
#pragma unroll
    for (int m = 0; m < depth; ++m)
#pragma unroll
      for (int r = 0; r < R; ++r) l[r][m] = place(r) >= first && place(r) < n ? factor(place(r), k + m) : C{};
    Row::template subtract<0>(x, l, staged + k * Row::stride);
  }

  /// The first warp factorizes the rows of the panel's own columns; their threads take the result.
  __device__ void exchange_triangle(int first, C (&x)[R][W]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r) - first;
      if (i >= 0 && i < W) Row::write(triangle + i * Row::stride, x[r]);
    }
    // Unit rows behind the last thread's.
    for (int i = max(R * threads() - first, 0) + thread(); i < W; i += threads())
#pragma unroll 1
      for (int c = 0; c < W; ++c) triangle[i * Row::stride + c] = detail::from_real<C>(i == c);
    __syncthreads();
    if (thread() < 32) factorize_triangle(first);
    __syncthreads();
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r) - first;
      if (i >= 0 && i < W) Row::read(triangle + i * Row::stride, x[r]);
    }
  }

  __device__ void factorize_triangle(int first) const {
    using Warp = Team<32>;
    const int lane = thread();
    C y[W];
    Row::read(triangle + lane % W * Row::stride, y);
    // Rolled for the sake of the instruction cache: a step reads register c and writes register c - 1.
#pragma unroll 1
    for (int k = 0; k < W; ++k) {
      const Real pivot = detail::real_part(Warp::broadcast(y[0], k));
      if (!(pivot > Real(0))) {
        if (lane == 0) *info = first + k + 1;
        break;
      }
      const Real root = sqrt(pivot), reciprocal = Real(1) / root;
      const C l = lane == k ? detail::from_real<C>(root) : reciprocal * y[0];
      C* const column = adjoint + k * Row::stride;
      if (lane < W) {
        triangle[lane * Row::stride + k] = l;
        column[lane] = detail::conj(l);
      }
      if (lane == 0) reciprocals[k] = reciprocal;
      __syncwarp();
#pragma unroll
      for (int c = 1; c < W; ++c) y[c - 1] = fused_subtract(y[c], l, column[min(k + c, W - 1)]);
    }
  }

  /// x L_JJ^-H for the rows below the panel's own.
  __device__ void solve(int first, C (&x)[R][W]) const {
    if ((place(R - 1) | 31) < first + W || *info != 0) return;
    C y[R][W];
#pragma unroll
    for (int r = 0; r < R; ++r)
#pragma unroll
      for (int c = 0; c < W; ++c) y[r][c] = x[r][c];
#pragma unroll
    for (int c = 0; c < W; ++c)
#pragma unroll
      for (int r = 0; r < R; ++r) {
        y[r][c] = reciprocals[c] * y[r][c];
#pragma unroll
        for (int m = 0; m < W; ++m)
          if (m > c) y[r][m] = fused_subtract(y[r][m], y[r][c], adjoint[c * Row::stride + m]);
      }
#pragma unroll
    for (int r = 0; r < R; ++r)
      if (place(r) >= first + W)
#pragma unroll
        for (int c = 0; c < W; ++c) x[r][c] = y[r][c];
  }

  __device__ void store(int first, const C (&x)[R][W]) const {
#pragma unroll
    for (int r = 0; r < R; ++r) {
      const int i = place(r);
      if (i >= n) continue;
#pragma unroll
      for (int c = 0; c < W; ++c)
        if (first + c <= i) {
          a.set(i, first + c, x[r][c]);
          if constexpr (cached) TrapezoidStore<C, W>(finished, n).panel(first)(i, c) = x[r][c];
        }
    }
  }
};

}  // namespace blockjacobi::kernels
