#pragma once

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <functional>

namespace blockjacobi::detail {

/// Rows sorted, no entry twice.
template <class T, Offset O>
bool is_canonical(const CsrView<T, O>& m) {
  const O base = static_cast<O>(m.base);
  for (index_t row = 0; row < m.rows; ++row) {
    const index_t* const end = m.columns + (m.row_offsets[row + offset_t{1}] - base);
    if (std::adjacent_find(m.columns + (m.row_offsets[row] - base), end, std::greater_equal<>{}) != end) return false;
  }
  return true;
}

}  // namespace blockjacobi::detail
