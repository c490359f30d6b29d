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

/// The least leading dimension from n on with which 8 rows of 4 columns are read without bank conflicts, if they have 8
/// bytes an element.
__host__ __device__ constexpr int conflict_free_ld(int n) { return (n + 11) / 16 * 16 + 4; }

/// The inverses of the triangles L_JJ on the diagonal, in shared memory.
template <class C, int W>
struct TriangleInverses {
  static constexpr int ld = W + 4;  ///< against bank conflicts
  C* data;

  __host__ __device__ static constexpr int elements(int n) { return (n + W - 1) / W * W * ld; }

  /// Element (i, c) of the triangle that starts at row `first`.
  __device__ Panel<C, int> operator()(int first) const { return {data + first * ld, ld}; }
};

// Where BlockLu keeps finished panels; in_place: they are the result already.

/// Panels of W columns in shared memory, of the panel from column j on the rows from j on: half of the matrix.
template <class C, int W>
struct TrapezoidStore {
  static_assert(W % 4 == 0);
  static constexpr bool in_place = false;
  C* data;
  int ld;
  TriangleInverses<C, W> inverses;

  __device__ TrapezoidStore(C* data_, int n) : data(data_), ld(conflict_free_ld(n)), inverses{data_ + panels(n)} {}

  __host__ __device__ static constexpr int panels(int n) { return start((n + W - 1) / W * W, conflict_free_ld(n)); }
  __host__ __device__ static constexpr int elements(int n) { return panels(n) + TriangleInverses<C, W>::elements(n); }

  /// `first`: a multiple of W.
  __device__ Panel<C, int> panel(int first) const { return {data + (start(first, ld) - first), ld - first}; }
  /// Shared memory for the rows of the panel from its own on, before it is in the store.
  __device__ Panel<C, int> exchange(int first) const { return panel(first); }

 private:
  __host__ __device__ static constexpr int start(int first, int ld) { return first * ld - first * (first - W) / 2; }
};

/// The matrix in its place in global memory; the panel at work has a place in shared memory.
template <class C, int W>
struct GlobalStore {
  static constexpr bool in_place = true;
  detail::MatrixRef<C> matrix;
  C* work;
  TriangleInverses<C, W> inverses;

  __device__ GlobalStore(const detail::MatrixRef<C>& matrix_, C* shared)
      : matrix(matrix_), work(shared), inverses{shared + W * (matrix_.rows | 1)} {}

  __host__ __device__ static constexpr int elements(int n) { return W * (n | 1) + TriangleInverses<C, W>::elements(n); }

  __device__ Panel<C, offset_t> panel(int first) const { return {matrix.column(first), matrix.ld}; }
  __device__ Panel<C, int> exchange(int) const { return {work, matrix.rows | 1}; }
};

}  // namespace blockjacobi::kernels
