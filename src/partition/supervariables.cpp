#include "partition/supervariables.hpp"

#include <algorithm>
#include <functional>

namespace blockjacobi::detail {

namespace {

/// The columns of a row as a strictly increasing list; sorts into `scratch` only rows that need it.
template <Offset O>
std::span<const index_t> column_set(const CsrView<const void, O>& pattern, index_t row, std::vector<index_t>& scratch) {
  const O base = static_cast<O>(pattern.base);
  const O begin = pattern.row_offsets[row] - base;
  const O end = pattern.row_offsets[row + 1] - base;
  const std::span<const index_t> columns(pattern.columns + begin, static_cast<std::size_t>(end - begin));
  if (std::ranges::adjacent_find(columns, std::greater_equal<>{}) == columns.end()) return columns;
  scratch.assign(columns.begin(), columns.end());
  std::ranges::sort(scratch);
  const auto repeated = std::ranges::unique(scratch);
  scratch.erase(repeated.begin(), repeated.end());
  return scratch;
}

/// Rows with the same column set as the row before them, up to max_size a block.
template <Offset O>
std::vector<index_t> natural_blocks(const CsrView<const void, O>& pattern, index_t max_size) {
  std::vector<index_t> offsets{0};
  std::vector<index_t> scratch, previous_scratch;
  std::span<const index_t> previous;
  for (index_t row = 0; row < pattern.rows; ++row) {
    const std::span<const index_t> current = column_set(pattern, row, scratch);
    const bool joins = row > 0 && row - offsets.back() < max_size && std::ranges::equal(current, previous);
    if (row > 0 && !joins) offsets.push_back(row);
    previous = current;
    std::swap(scratch, previous_scratch);  // keeps what `previous` may refer to
  }
  if (pattern.rows > 0) offsets.push_back(pattern.rows);
  return offsets;
}

/// Merges consecutive blocks greedily while they fit into max_size rows.
std::vector<index_t> agglomerate(const std::vector<index_t>& offsets, index_t max_size) {
  std::vector<index_t> merged{0};
  for (std::size_t b = 1; b < offsets.size(); ++b) {
    const index_t end = offsets[b];
    if (end - merged.back() > max_size) merged.push_back(offsets[b - 1]);
  }
  if (offsets.size() > 1) merged.push_back(offsets.back());
  return merged;
}

}  // namespace

template <Offset O>
std::vector<index_t> supervariables(const CsrView<const void, O>& pattern, index_t max_size) {
  return agglomerate(natural_blocks(pattern, max_size), max_size);
}

template std::vector<index_t> supervariables(const CsrView<const void, std::int32_t>&, index_t);
template std::vector<index_t> supervariables(const CsrView<const void, std::int64_t>&, index_t);

}  // namespace blockjacobi::detail
