#pragma once

#include "core/shared/coarse_basis.hpp"

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

/// Row i of P = Z - relaxation D^-1 (A Z), D the real diagonal of A, in place of that of A Z; that of Z where the row
/// has no diagonal.
template <class C, class O, class R>
BLOCKJACOBI_HD inline void smooth_row(const SparseRows<C, O>& a, const CoarseBasisArrays<C>& z, R relaxation,
                                      offset_t i, const std::int32_t* offsets, const index_t* columns, C* values) {
  R diagonal{};
  for (O k = a.begin(i); k < a.end(i); ++k)
    if (a.column(k) == i) diagonal += real_part(a.m.values[k]);
  const R factor = diagonal != R(0) ? relaxation / diagonal : R(0);
  const index_t g = z.group[i];
  const index_t first = g == no_group ? 0 : z.first_column(g), own = g == no_group ? 0 : z.columns(g);
  for (std::int32_t k = offsets[i]; k < offsets[i + 1]; ++k) {
    const index_t v = columns[k] - first;
    values[k] = (v >= 0 && v < own ? z.value(static_cast<index_t>(i), v) : C{}) - factor * values[k];
  }
}

}  // namespace blockjacobi::detail
