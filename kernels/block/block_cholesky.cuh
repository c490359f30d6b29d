#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/panel_store.cuh"
#include "kernels/block/update_tile.cuh"
#include "kernels/subwarp/householder.cuh"

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

/// Cholesky factorization A = L L^H of one n x n matrix in place by a thread block with a thread for each row, left to
/// right by panels J of W columns. A panel takes the products of all columns before it when its turn comes, 32 rows a
/// warp. Then each thread factorizes L_JJ in its registers, which no other has to wait for, and divides its row by it.
/// Finished columns are read from shared memory where they fit (cached), else from their place.
template <class C, int W, bool cached>
struct BlockCholesky {
  using Tile = UpdateTile<C, W>;
  using Real = detail::arithmetic_real_t<C>;
  static_assert(W == Tile::depth || W % Tile::depth == 0);

  StoredTriangle<C> a;
  int n;
  C* finished;  ///< cached: the panels of a TrapezoidStore, else the panel at work
  C* diagonal;  ///< W x W, by rows: L_JJ L_JJ^H

  __host__ __device__ static constexpr std::size_t finished_elements(int n) {
    return static_cast<std::size_t>(((cached ? TrapezoidStore<C, W>::panels(n) : W * (n | 1)) + 3) / 4 * 4);
  }
  __host__ __device__ static constexpr std::size_t shared_bytes(int n) {
    return (finished_elements(n) + W * W) * sizeof(C);
  }

  __device__ BlockCholesky(const StoredTriangle<C>& a_, unsigned char* shared) : a(a_), n(a_.n) {
    finished = reinterpret_cast<C*>(shared);
    diagonal = finished + finished_elements(n);
  }

  /// Returns 0, or the order of the first leading minor that is not positive definite. Uniform in the thread block.
  __device__ int run() const {
#pragma unroll 1
    for (int first = 0; first < n; first += W) {
      update(first);
      __syncthreads();
      const int info = divide(first);
      if (info != 0) return info;
      __syncthreads();
    }
    return 0;
  }

 private:
  __device__ static int thread() { return static_cast<int>(threadIdx.x); }
  /// The first row of this warp.
  __device__ static int first_row() { return thread() & ~31; }

  /// L(i, k + c) for a panel from k.
  __device__ auto columns(int k) const {
    if constexpr (cached)
      return TrapezoidStore<C, W>(finished, n).panel(k);
    else
      return [this, k](int i, int c) { return a.get(i, k + c); };
  }
  /// Shared memory for the panel at work.
  __device__ Panel<C, int> exchange(int first) const {
    if constexpr (cached)
      return TrapezoidStore<C, W>(finished, n).panel(first);
    else
      return {finished, n | 1};
  }

  /// Behind the matrix the identity.
  __device__ C original(int i, int j) const {
    const C value = i >= j && i < n ? a.get(i, j) : C{};
    return i == j ? detail::from_real<C>(i < n ? detail::real_part(value) : Real(1)) : value;
  }

  /// This warp's rows of the panel, less the products of the columns before it.
  __device__ void update(int first) const {
    if (first_row() + 31 < first) return;
    int row[Tile::rows];
#pragma unroll
    for (int r = 0; r < Tile::rows; ++r) row[r] = first_row() + Tile::row(r);
    Tile tile;
    tile.for_each([&](int r, int c, C& x) { x = original(row[r], first + c); });
    int clamped[Tile::rows];
#pragma unroll
    for (int r = 0; r < Tile::rows; ++r) clamped[r] = min(max(row[r], first), n - 1);
    constexpr int parts = W / Tile::depth;
#pragma unroll(cached ? 2 : detail::Arithmetic <C>::is_complex ? 1 : 4)
    for (int k = 0; k < first; k += W) {
      const auto l = columns(k);
#pragma unroll
      for (int m = 0; m < parts; ++m) {
        const auto part = [&](int i, int c) { return l(i, m * Tile::depth + c); };
        tile.add_from(Tile::load_left(part, clamped),
                      [&](int c, int j) { return -detail::conj(part(min(first + j, n - 1), c)); });
      }
    }
    const auto panel = exchange(first);
    tile.for_each([&](int r, int c, C& x) {
      const int i = row[r] - first;
      if (i >= 0 && row[r] < n) panel(row[r], c) = x;
      if (i >= 0 && i < W) diagonal[i * W + c] = x;
    });
  }

  /// This thread's row of the panel times L_JJ^-H; returns as run().
  __device__ int divide(int first) const {
    C l[W][W];
    Real reciprocal[W];
    int info = 0;
    const int width = min(W, n - first);
#pragma unroll
    for (int i = 0; i < W; ++i)
#pragma unroll
      for (int c = 0; c <= i; ++c) l[i][c] = i < width ? diagonal[i * W + c] : detail::from_real<C>(i == c);
#pragma unroll
    for (int k = 0; k < W; ++k) {
      const Real pivot = detail::real_part(l[k][k]);
      if (info == 0 && !(pivot > Real(0))) info = first + k + 1;
      reciprocal[k] = info == 0 ? reciprocal_root(pivot) : Real(0);
#pragma unroll
      for (int i = k + 1; i < W; ++i) l[i][k] = reciprocal[k] * l[i][k];
#pragma unroll
      for (int c = k + 1; c < W; ++c)
#pragma unroll
        for (int i = c; i < W; ++i) l[i][c] = fused_subtract(l[i][c], l[i][k], detail::conj(l[c][k]));
    }
    const int own = thread() - first;
    if (own < 0 || thread() >= n) return info;
    const int end = info == 0 ? width : info - 1 - first;
    const auto panel = exchange(first);
#pragma unroll
    for (int c = 0; c < W; ++c) {
      C x = panel(thread(), c);
#pragma unroll
      for (int m = 0; m < c; ++m) x = fused_subtract(x, panel(thread(), m), detail::conj(l[c][m]));
      x = reciprocal[c] * x;
      panel(thread(), c) = x;
      if (c <= own && c < end) a.set(thread(), first + c, c == own ? detail::from_real<C>(detail::real_part(x)) : x);
    }
    return info;
  }

  __device__ static Real reciprocal_root(Real a) {
    const int field = static_cast<int>(magnitude_word(a) >> ExponentField<Real>::shift);
    if (field <= 2 || field >= ExponentField<Real>::top - 2) return Real(1) / sqrt(a);
    Real root, reciprocal;
    fast_root(a, root, reciprocal);
    return reciprocal;
  }
};

}  // namespace blockjacobi::kernels
