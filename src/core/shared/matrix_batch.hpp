#pragma once

#include "core/shared/macros.hpp"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::detail {

/// One column-major matrix of a batch.
template <class T>
struct MatrixRef {
  T* data;
  index_t rows;
  index_t cols;
  index_t ld;

  BLOCKJACOBI_HD T* column(index_t j) const { return data + static_cast<offset_t>(j) * ld; }
  BLOCKJACOBI_HD T& operator()(index_t i, index_t j) const { return column(j)[i]; }
};

/// Matrix k of a batch whose shapes come from another one: that of an output, or of right-hand sides.
template <class T>
BLOCKJACOBI_HD inline MatrixRef<T> matrix_of(const MatrixBatchView<T>& batch, offset_t k, index_t rows, index_t cols) {
  T* const data = batch.pointers != nullptr ? batch.pointers[k] : batch.data + k * batch.stride;
  return {data, rows, cols, batch.ld != 0 ? batch.ld : rows};
}

/// Matrix k of the batch.
template <class T>
BLOCKJACOBI_HD inline MatrixRef<T> matrix_of(const MatrixBatchView<T>& batch, offset_t k) {
  const index_t rows = batch.orders != nullptr ? batch.orders[k] : batch.rows;
  const index_t cols = batch.orders != nullptr ? batch.orders[k] : batch.cols;
  return matrix_of(batch, k, rows, cols);
}

/// The same bytes as a batch of the scalar that shared code computes with.
template <class C, class T>
inline MatrixBatchView<C> batch_cast(const MatrixBatchView<T>& batch) {
  return {batch.rows,
          batch.cols,
          batch.ld,
          batch.count,
          reinterpret_cast<C*>(batch.data),
          batch.stride,
          reinterpret_cast<C* const*>(batch.pointers),
          batch.orders,
          batch.space};
}

}  // namespace blockjacobi::detail
