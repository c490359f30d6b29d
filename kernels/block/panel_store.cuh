#pragma once

#include "core/shared/matrix_batch.hpp"

namespace blockjacobi::kernels {

/// Columns that stand together: element (i, c) of the panel is row i of the matrix in its c-th column.
template <class C, class Index>
struct Panel {
  C* data;
  Index ld;

  __device__ C& operator()(int i, int c) const { return data[i + c * ld]; }
};

/// Where BlockLu keeps finished panels. in_place: they are the result already; copies_triangles: triangle() has to be
/// written besides panel().

/// Panels of W columns in shared memory, of the panel from column j on the rows from j on: half of the matrix. Leading
/// dimensions are odd against bank conflicts along rows.
template <class C, int W>
struct TrapezoidStore {
  static_assert(W % 2 == 0);
  static constexpr bool in_place = false, copies_triangles = false;
  C* data;
  int ld;

  __device__ TrapezoidStore(C* data_, int n) : data(data_), ld(n | 1) {}

  __host__ __device__ static constexpr int elements(int n) { return start((n + W - 1) / W * W, n | 1); }

  /// `first`: a multiple of W.
  __device__ Panel<C, int> panel(int first) const { return {data + (start(first, ld) - first), ld - first}; }
  /// The rows of the panel that are its own columns.
  __device__ Panel<C, int> triangle(int first) const { return panel(first); }

 private:
  __host__ __device__ static constexpr int start(int first, int ld) { return first * ld - first * (first - W) / 2; }
};

/// The matrix in its place in global memory, with a copy of the triangles on the diagonal in shared memory, where the
/// substitution reads them element by element.
template <class C, int W>
struct GlobalStore {
  static constexpr bool in_place = true, copies_triangles = true;
  detail::MatrixRef<C> matrix;
  C* triangles;

  __device__ GlobalStore(const detail::MatrixRef<C>& matrix_, C* triangles_) : matrix(matrix_), triangles(triangles_) {}

  __host__ __device__ static constexpr int elements(int n) { return (n + W - 1) / W * W * W; }

  __device__ Panel<C, offset_t> panel(int first) const { return {matrix.column(first), matrix.ld}; }
  __device__ Panel<C, int> triangle(int first) const { return {triangles + first * W - first, W}; }
};

/// The whole matrix in shared memory, with an odd leading dimension.
template <class C>
struct SharedStore {
  static constexpr bool in_place = true, copies_triangles = false;
  C* data;
  int n, ld;

  __device__ SharedStore(C* data_, int n_) : data(data_), n(n_), ld(n_ | 1) {}

  __host__ __device__ static constexpr int elements(int n) { return n * (n | 1); }

  __device__ detail::MatrixRef<C> matrix() const { return {data, n, n, ld}; }
  __device__ Panel<C, int> panel(int first) const { return {data + first * ld, ld}; }
  __device__ Panel<C, int> triangle(int first) const { return panel(first); }
};

}  // namespace blockjacobi::kernels
