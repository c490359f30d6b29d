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

/// Column j of a matrix, with one multiplication of 32 bits.
template <class C>
__device__ C* column_of(const detail::MatrixRef<C>& a, int j) {
  return a.data + static_cast<std::size_t>(static_cast<unsigned>(j)) * static_cast<unsigned>(a.ld);
}

}  // namespace blockjacobi::kernels
