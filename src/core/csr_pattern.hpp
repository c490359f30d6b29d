#pragma once

#include <blockjacobi/views.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <variant>

namespace blockjacobi::detail {

template <class T, Offset O>
CsrView<const void, O> pattern_of(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, nullptr, m.base, m.space};
}

/// The pattern of a matrix with offsets of either width.
using AnyPattern = std::variant<CsrView<const void, std::int32_t>, CsrView<const void, std::int64_t>>;

template <class View>
AnyPattern any_pattern_of(const View& matrix) {
  return std::visit([](const auto& m) -> AnyPattern { return pattern_of(m); }, matrix);
}

/// For what takes the scalar beside.
template <class T, Offset O>
CsrView<const void, O> untyped(const CsrView<T, O>& m) {
  return {m.rows, m.cols, m.nnz, m.row_offsets, m.columns, m.values, m.base, m.space};
}

/// Throws InvalidArgument, naming `function`, for a negative one.
void require_sizes(const char* function, index_t rows, index_t cols, offset_t nnz);

/// validate() in the name of `function`.
template <Offset O>
void require_valid(const char* function, const CsrView<const void, O>& pattern);

/// Rows sorted, no entry twice, of a valid pattern on the host.
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
