#pragma once

namespace blockjacobi::kernels {

/// Columns that stand together: element (i, c) of the panel is row i of the matrix in its c-th column.
template <class C, class Index>
struct Panel {
  C* data;
  Index ld;

  __device__ C& operator()(int i, int c) const { return data[i + c * ld]; }
};

}  // namespace blockjacobi::kernels
