#pragma once

#include "core/shared/compute_type.hpp"
#include "core/shared/matrix_batch.hpp"

#include "backend/host_column.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <array>
#include <cstring>

namespace blockjacobi::detail {

/// A matrix of a fixed order, or a part of a larger one, column-major without gaps.
template <class C, int N>
using Tile = std::array<C, static_cast<std::size_t>(N) * static_cast<std::size_t>(N)>;

template <class C>
inline void copy_matrix(const MatrixRef<const C>& from, const MatrixRef<C>& to) {
  if (from.data == to.data) return;
  for (index_t j = 0; j < to.cols; ++j) std::copy_n(from.column(j), to.rows, to.column(j));
}

template <class C>
inline void fill_matrix(const MatrixRef<C>& a, C value) {
  for (index_t j = 0; j < a.cols; ++j) std::fill_n(a.column(j), a.rows, value);
}

template <class C>
inline bool all_finite(const MatrixRef<C>& a) {
  for (index_t j = 0; j < a.cols; ++j)
    if (!all_finite(a.rows, a.column(j))) return false;
  return true;
}

/// The rectangle of `rows` x `cols` at (i, j).
template <class C>
inline MatrixRef<C> part(const MatrixRef<C>& a, index_t i, index_t j, index_t rows, index_t cols) {
  return {a.column(j) + i, rows, cols, a.ld};
}

/// What Eigen sees of a matrix; C is the compute scalar of T.
template <Scalar T, class C>
inline auto eigen_map(const MatrixRef<C>& a) {
  using Dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
  using Matrix = std::conditional_t<std::is_const_v<C>, const Dense, Dense>;
  using Element = std::conditional_t<std::is_const_v<C>, const T, T>;
  return Eigen::Map<Matrix, Eigen::Unaligned, Eigen::OuterStride<>>(reinterpret_cast<Element*>(a.data), a.rows, a.cols,
                                                                    Eigen::OuterStride<>(a.ld));
}

/// C -= A B where there is too little work for Eigen. why not Eigen: it loads complex numbers of single precision from
/// vectors as if they were aligned like a double.
template <class C, class A>
void subtract_small_product(const MatrixRef<C>& c, const MatrixRef<A>& a, const MatrixRef<A>& b) {
  for (index_t j = 0; j < c.cols; ++j)
    for (index_t k = 0; k < a.cols; ++k) subtract_multiple<C>(c.rows, a.column(k), b(k, j), c.column(j));
}

/// C -= A B for disjoint parts, in pieces for which Eigen keeps its packed copies on the stack: no allocation.
template <Scalar T, class C, class A>
void subtract_product(const MatrixRef<C>& c, const MatrixRef<A>& a, const MatrixRef<A>& b) {
  constexpr index_t height = 128, width = 64, depth = 32, smallest = 4;
  for (index_t j = 0; j < c.cols; j += width)
    for (index_t k = 0; k < a.cols; k += depth)
      for (index_t i = 0; i < c.rows; i += height) {
        const index_t rows = std::min(height, c.rows - i), cols = std::min(width, c.cols - j);
        const index_t inner = std::min(depth, a.cols - k);
        const MatrixRef<C> target = part(c, i, j, rows, cols);
        const MatrixRef<A> left = part(a, i, k, rows, inner), right = part(b, k, j, inner, cols);
        if (rows < smallest || cols < smallest || rows + inner + cols < 20)
          subtract_small_product(target, left, right);
        else
          eigen_map<T>(target).noalias() -= eigen_map<T>(left) * eigen_map<T>(right);
      }
}

}  // namespace blockjacobi::detail
