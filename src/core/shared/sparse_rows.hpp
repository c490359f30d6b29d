#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/views.hpp>

#include <cstdint>

namespace blockjacobi::detail {

/// The rows of a matrix of any base, in numbers from 0.
template <class C, class O>
struct SparseRows {
  CsrView<C, O> m;

  BLOCKJACOBI_HD index_t base() const { return static_cast<index_t>(m.base); }
  BLOCKJACOBI_HD O begin(offset_t i) const { return m.row_offsets[i] - static_cast<O>(base()); }
  BLOCKJACOBI_HD O end(offset_t i) const { return m.row_offsets[i + 1] - static_cast<O>(base()); }
  BLOCKJACOBI_HD index_t column(O k) const { return m.columns[k] - base(); }
};

template <class C, class O>
SparseRows(CsrView<C, O>) -> SparseRows<C, O>;

/// (A x)_i of a matrix of base 0; without values A has ones.
template <class C>
BLOCKJACOBI_HD inline C row_product(const CsrView<C, std::int32_t>& a, offset_t i, const C* x) {
  C sum{};
  for (std::int32_t k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k)
    sum += a.values != nullptr ? a.values[k] * x[a.columns[k]] : x[a.columns[k]];
  return sum;
}

/// Where column j stands among `count` ascending ones, which have it.
BLOCKJACOBI_HD inline std::int32_t place_of(index_t j, const index_t* columns, std::int32_t count) {
  std::int32_t first = 0;
  while (count > 1) {
    const std::int32_t half = count / 2;
    if (columns[first + half] <= j) first += half;
    count -= half;
  }
  return first;
}

}  // namespace blockjacobi::detail
