#pragma once

#include "kernels/krylov/policy.hpp"

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace blockjacobi::kernels {

template <int lanes_, int entries_>
struct RowShape {
  static constexpr int lanes = lanes_;
  static constexpr int entries = entries_;
};

template <int first, class F>
void with_lanes_a_row(double mean, F f) {
  constexpr CsrShape shape = csr_shapes[first];
  if constexpr (first + 1 < static_cast<int>(std::size(csr_shapes)))
    if (mean > csr_longest(shape)) return with_lanes_a_row<first + 1>(mean, f);
  f(RowShape<shape.lanes, shape.entries>{});
}

/// Calls f(RowShape) with the shape for this matrix.
template <class C, class F>
void with_csr_shape(const CsrView<C, std::int32_t>& a, F f) {
  const double mean = static_cast<double>(a.nnz) / std::max(a.rows, 1);
  if (mean <= csr_longest_streamed) return f(RowShape<csr_streamed.lanes, csr_streamed.entries>{});
  with_lanes_a_row<0>(mean, f);
}

}  // namespace blockjacobi::kernels
