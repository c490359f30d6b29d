#pragma once

#include "core/shared/matrix_batch.hpp"

namespace blockjacobi::kernels {

/// A triangle of a matrix as it stands, transposed or conjugate transposed: element (i, k) is at data[i * row + k *
/// column].
template <class C>
struct TriangularFactor {
  const C* data;
  offset_t row, column;
  bool conjugate;
  bool unit;  ///< its diagonal is one and not stored

  __host__ __device__ static TriangularFactor of(const detail::MatrixRef<const C>& a, Op op, bool unit) {
    return op == Op::none ? TriangularFactor{a.data, 1, a.ld, false, unit}
                          : TriangularFactor{a.data, a.ld, 1, op == Op::conjugate_transpose, unit};
  }
};

}  // namespace blockjacobi::kernels
