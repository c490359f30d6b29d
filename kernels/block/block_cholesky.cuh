#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/block/panel_store.cuh"
#include "kernels/block/panel_tile.cuh"
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

/// Cholesky factorization A = L L^H of one n x n matrix in place by a thread block with a thread for each row, left to
/// right by panels J of W columns. A panel takes the updates of all columns before it when its turn comes, 32 rows a
/// warp; the first warp factorizes its own rows, then each thread divides its row. Finished columns are read from
/// shared memory where they fit (cached), else from their place.
template <class C, int W, bool cached>
struct BlockCholesky {
  using Row = Rows<C, W>;
  using Tile = PanelTile<C, W>;
  using Real = detail::arithmetic_real_t<C>;

  StoredTriangle<C> a;
  int n;
  C* finished;        ///< cached: the panels of a TrapezoidStore, else the panel at work
  C* staged;          ///< row k: conj(L(J, k)) for the columns k before the panel J
  C* triangle;        ///< W rows: the panel's own, then L_JJ
  C* adjoint;         ///< W rows: L_JJ^H
  Real* reciprocals;  ///< W: of the diagonal of L_JJ
  int* info;

  __host__ __device__ static constexpr std::size_t finished_bytes(int n) {
    const int elements = cached ? TrapezoidStore<C, W>::panels(n) : W * (n | 1);
    return (static_cast<std::size_t>(elements) * sizeof(C) + 15) / 16 * 16;
  }
  __host__ __device__ static constexpr std::size_t shared_bytes(int n) {
    const auto rows = static_cast<std::size_t>((n + W - 1) / W * W);
    return finished_bytes(n) + (rows + 2 * W) * Row::stride * sizeof(C) + W * sizeof(Real) + sizeof(int);
  }

  __device__ BlockCholesky(const StoredTriangle<C>& a_, unsigned char* shared) : a(a_), n(a_.n) {
    finished = reinterpret_cast<C*>(shared);
    staged = reinterpret_cast<C*>(shared + finished_bytes(n));
    triangle = staged + (n + W - 1) / W * W * Row::stride;
    adjoint = triangle + W * Row::stride;
    reciprocals = reinterpret_cast<Real*>(adjoint + W * Row::stride);
    info = reinterpret_cast<int*>(reciprocals + W);
  }

  /// Returns 0, or the order of the first leading minor that is not positive definite.
  __device__ int run() const {
    if (thread() == 0) *info = 0;
    __syncthreads();
#pragma unroll 1
    for (int first = 0; first < n && *info == 0; first += W) {
      C x[W];
      update(first, x);
      exchange_triangle(first, x);
      if (thread() >= first + W && *info == 0) divide(x);
      store(first, x);
      __syncthreads();
    }
    return *info;
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

  /// This thread's row of the panel, less the products of the columns before it.
  __device__ void update(int first, C (&x)[W]) const {
    Tile tile;
    tile.for_each([&](int i, int c, C& element) { element = original(first_row() + i, first + c); });
    stage(first);
    __syncthreads();
    const auto panel = exchange(first);
    if (first_row() + 31 >= first) {
#pragma unroll 1
      for (int k = 0; k < first; k += W) {
        const auto l = columns(k);
        tile.subtract([&](int i, int c) { return l(min(first_row() + i, n - 1), c); }, staged + k * Row::stride,
                      first - first_row());
      }
      tile.for_each([&](int i, int c, C& element) {
        const int row = first_row() + i;
        if (row >= first && row < n) panel(row, c) = element;
      });
    }
    __syncwarp();
#pragma unroll
    for (int c = 0; c < W; ++c)
      x[c] = thread() >= first && thread() < n ? panel(thread(), c) : detail::from_real<C>(thread() == first + c);
  }

  /// Behind the matrix the identity.
  __device__ C original(int i, int j) const {
    const C value = i >= j && i < n ? a.get(i, j) : C{};
    return i == j ? detail::from_real<C>(i < n ? detail::real_part(value) : Real(1)) : value;
  }

  __device__ void stage(int first) const {
    if (thread() >= first) return;
    const int k = thread() / W * W;
    const auto l = columns(k);
    C row[W];
#pragma unroll
    for (int c = 0; c < W; ++c) row[c] = detail::conj(l(min(first + c, n - 1), thread() - k));
    Row::write(staged + thread() * Row::stride, row);
  }

  /// The first warp factorizes the rows of the panel's own columns; their threads take the result.
  __device__ void exchange_triangle(int first, C (&x)[W]) const {
    const int i = thread() - first;
    const bool own = i >= 0 && i < W;
    if (own) Row::write(triangle + i * Row::stride, x);
    __syncthreads();
    if (thread() < 32) factorize_triangle(first);
    __syncthreads();
    if (own) Row::read(triangle + i * Row::stride, x);
  }

  __device__ void factorize_triangle(int first) const {
    using Warp = Team<32>;
    const int lane = thread();
    C y[W];
    Row::read(triangle + lane % W * Row::stride, y);
    Warp::sync();  // rows are read twice before they are written
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

  /// x L_JJ^-H.
  __device__ void divide(C (&x)[W]) const {
#pragma unroll
    for (int c = 0; c < W; ++c) {
      x[c] = reciprocals[c] * x[c];
#pragma unroll
      for (int m = 0; m < W; ++m)
        if (m > c) x[m] = fused_subtract(x[m], x[c], adjoint[c * Row::stride + m]);
    }
  }

  __device__ void store(int first, const C (&x)[W]) const {
    if (thread() < first || thread() >= n) return;
    const auto panel = exchange(first);
#pragma unroll
    for (int c = 0; c < W; ++c)
      if (first + c <= thread()) {
        a.set(thread(), first + c, x[c]);
        if constexpr (cached) panel(thread(), c) = x[c];
      }
  }
};

}  // namespace blockjacobi::kernels
