#pragma once

#include "core/shared/matrix_batch.hpp"

namespace blockjacobi::kernels {

/// Matrices of order N back to back: order and leading dimension are constants of the code.
template <class C, int N>
struct ContiguousMatrix {
  C* data;
  static constexpr int n = N, ld = N;
};

template <class Matrix>
inline constexpr bool is_contiguous = false;
template <class C, int N>
inline constexpr bool is_contiguous<ContiguousMatrix<C, N>> = true;

template <class C, int N>
struct ContiguousBatch {
  C* data;
  offset_t count;

  __device__ ContiguousMatrix<C, N> operator[](offset_t k) const { return {data + k * (N * N)}; }
};

/// A matrix of any order up to the kernel's.
template <class C>
struct StridedMatrix {
  C* data = nullptr;
  int n = 0, ld = 0;
};

template <class C>
struct StridedBatch {
  MatrixBatchView<C> view;

  __device__ StridedMatrix<C> operator[](offset_t k) const { return from(detail::matrix_of(view, k)); }
  /// Matrix k of an output, whose order is that of its input.
  __device__ StridedMatrix<C> like(offset_t k, int n) const { return from(detail::matrix_of(view, k, n, n)); }

 private:
  __device__ static StridedMatrix<C> from(const detail::MatrixRef<C>& matrix) {
    return {matrix.data, matrix.rows, matrix.ld};
  }
};

}  // namespace blockjacobi::kernels
