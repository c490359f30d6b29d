#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace blockjacobi::detail {

/// Builds a CsrMatrix by a stable counting sort over the rows. `for_each_entry(f)` calls f(row, col, value) for every
/// entry, twice in the same order; indices are in range.
template <Scalar T, class ForEachEntry>
CsrMatrix<T> assemble_by_rows(index_t rows, index_t cols, ForEachEntry&& for_each_entry) {
  std::vector<offset_t> offsets(static_cast<std::size_t>(rows) + 1, 0);
  for_each_entry([&](index_t row, index_t, const T&) { ++offsets[static_cast<std::size_t>(row) + 1]; });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());

  const auto nnz = static_cast<std::size_t>(offsets.back());
  std::vector<index_t> columns(nnz);
  std::vector<T> values(nnz);
  std::vector<offset_t> next(offsets.begin(), offsets.end() - 1);
  for_each_entry([&](index_t row, index_t col, const T& value) {
    const auto position = static_cast<std::size_t>(next[static_cast<std::size_t>(row)]++);
    columns[position] = col;
    values[position] = value;
  });
  return CsrMatrix<T>(rows, cols, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace blockjacobi::detail
