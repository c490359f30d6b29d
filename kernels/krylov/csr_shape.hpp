#pragma once

#include "kernels/krylov/policy.hpp"

#include <blockjacobi/views.hpp>

#include <cstdint>
#include <iterator>

namespace blockjacobi::kernels {

template <int lanes_, int entries_>
struct RowShape {
  static constexpr int lanes = lanes_;
  static constexpr int entries = entries_;
};

template <int number, class F>
void with_shape(const CsrShape& shape, F f) {
  constexpr CsrShape own = csr_shapes[number];
  if constexpr (number + 1 < static_cast<int>(std::size(csr_shapes)))
    if (!(shape == own)) return with_shape<number + 1>(shape, f);
  f(RowShape<own.lanes, own.entries>{});
}

/// Calls f(RowShape) with the shape for this matrix.
template <class C, class F>
void with_csr_shape(const CsrView<C, std::int32_t>& a, F f) {
  with_shape<0>(csr_shape(a.rows, a.nnz), f);
}

}  // namespace blockjacobi::kernels
