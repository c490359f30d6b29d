#pragma once

#include "core/shared/matrix_batch.hpp"

namespace blockjacobi::kernels {

/// A matrix whose elements stand row_step apart in a column and column_step in a row.
template <class C>
struct SteppedRef {
  C* data;
  offset_t row_step, column_step;

  __device__ SteppedRef(C* elements, offset_t of_rows, offset_t of_columns)
      : data(elements), row_step(of_rows), column_step(of_columns) {}
  __device__ explicit SteppedRef(const detail::MatrixRef<C>& a) : SteppedRef(a.data, 1, a.ld) {}
  __device__ C& operator()(int i, int j) const { return data[i * row_step + j * column_step]; }
};

template <class C>
__device__ C* column_of(const SteppedRef<C>& a, int j) {
  return a.data + j * a.column_step;
}

/// Between neighbours in a column.
template <class C>
__device__ constexpr int row_step(const detail::MatrixRef<C>&) {
  return 1;
}
template <class C>
__device__ offset_t row_step(const SteppedRef<C>& a) {
  return a.row_step;
}

}  // namespace blockjacobi::kernels
