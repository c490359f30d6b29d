#pragma once

#include "core/shared/matrix_batch.hpp"
#include "kernels/collectives/arithmetic.cuh"
#include "kernels/collectives/lanes.cuh"
#include "kernels/collectives/policy.hpp"

namespace blockjacobi::kernels {

/// W elements in shared memory, 16-byte aligned: written by lanes of a group, read by all of them at once.
template <int W, class C>
struct SharedVector {
  C* data;

  __device__ C& operator[](int i) const { return data[i]; }

  /// visit(i, element) for i = 0 .. Count - 1, unrolled.
  template <int Count, class Visit>
  __device__ void for_each(Visit visit) const {
    constexpr int size = Vector16<C>::size;
#pragma unroll
    for (int first = 0; first < Count; first += size) {
      const auto part = *reinterpret_cast<const Vector16<C>*>(data + first);
#pragma unroll
      for (int u = 0; u < size; ++u)
        if (first + u < Count) visit(first + u, part.value[u]);
    }
  }

  /// The same in descending order.
  template <int Count, class Visit>
  __device__ void for_each_down(Visit visit) const {
    constexpr int size = Vector16<C>::size;
#pragma unroll
    for (int first = (Count - 1) / size * size; first >= 0; first -= size) {
      const auto part = *reinterpret_cast<const Vector16<C>*>(data + first);
#pragma unroll
      for (int u = size - 1; u >= 0; --u)
        if (first + u < Count) visit(first + u, part.value[u]);
    }
  }
};

/// A matrix of at most W rows and columns in shared memory, on which W lanes work: column-major with an odd leading
/// dimension, so that rows and columns are read without bank conflicts. Members that move the matrix give lane i row i,
/// which makes neighbouring lanes access neighbouring elements, and order the accesses of the group around them.
template <int W, class C>
struct SharedTile {
  static constexpr int capacity = W * (W + 1);

  C* a;
  SharedVector<W, C> vector;  ///< to publish a row or column
  Lanes<W> lanes;
  int rows, cols;

  __device__ C& at(int i, int j) const { return a[i + j * (rows | 1)]; }
  __device__ bool owns_row() const { return lanes.rank < rows; }
  __device__ bool owns_column() const { return lanes.rank < cols; }

  __device__ void load(const detail::MatrixRef<const C>& from) const {
    const int i = lanes.rank;
    if (owns_row()) transfer([&](int j) { return from(i, j); }, [&](int j, C v) { at(i, j) = v; });
    lanes.sync();
  }

  /// Row `source` of the tile becomes the row of this lane.
  __device__ void store(const detail::MatrixRef<C>& to, int source) const {
    const int i = lanes.rank;
    lanes.sync();
    if (owns_row()) transfer([&](int j) { return at(source, j); }, [&](int j, C v) { to(i, j) = v; });
  }
  __device__ void store(const detail::MatrixRef<C>& to) const { store(to, lanes.rank); }

  /// The lower triangle; if it is the upper one that is stored, its conjugate transpose.
  __device__ void load_triangle(batched::Triangle which, const detail::MatrixRef<const C>& from) const {
    const int i = lanes.rank;
    if (owns_row()) {
      if (which == batched::Triangle::lower)
        transfer(
            0, i + 1, [&](int j) { return from(i, j); }, [&](int j, C v) { at(i, j) = v; });
      else
        transfer(
            i, cols, [&](int j) { return from(i, j); }, [&](int j, C v) { at(j, i) = detail::conj(v); });
    }
    lanes.sync();
  }

  /// The reverse of load_triangle.
  __device__ void store_triangle(batched::Triangle which, const detail::MatrixRef<C>& to) const {
    const int i = lanes.rank;
    lanes.sync();
    if (!owns_row()) return;
    if (which == batched::Triangle::lower)
      transfer(
          0, i + 1, [&](int j) { return at(i, j); }, [&](int j, C v) { to(i, j) = v; });
    else
      transfer(
          i, cols, [&](int j) { return detail::conj(at(j, i)); }, [&](int j, C v) { to(i, j) = v; });
  }

  __device__ void fill(C value) const {
    lanes.sync();
    if (owns_row())
      for (int j = 0; j < cols; ++j) at(lanes.rank, j) = value;
  }

  /// The first j (1-based) with a zero on the diagonal, or 0.
  __device__ int first_zero_diagonal() const {
    const bool zero = owns_row() && owns_column() && detail::is_zero(at(lanes.rank, lanes.rank));
    const int first = lanes.min(zero ? lanes.rank : W);
    return first < W ? first + 1 : 0;
  }

 private:
  /// put(j, get(j)) for the columns j in [begin, end) of this lane's row, with several get under way.
  template <class Get, class Put>
  __device__ void transfer(int begin, int end, Get get, Put put) const {
    constexpr int in_flight = lanes_columns_in_flight<W>;
    // Rounds begin at the same columns in all lanes, so that accesses to a column stay together.
#pragma unroll 1
    for (int first = 0; first < end; first += in_flight) {
      C value[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u)
        if (first + u >= begin && first + u < end) value[u] = get(first + u);
#pragma unroll
      for (int u = 0; u < in_flight; ++u)
        if (first + u >= begin && first + u < end) put(first + u, value[u]);
    }
  }
  template <class Get, class Put>
  __device__ void transfer(Get get, Put put) const {
    transfer(0, cols, get, put);
  }
};

}  // namespace blockjacobi::kernels
