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
  scratch.erase(std::unique(scratch.begin(), scratch.end()), scratch.end());
  return scratch;
}

/// |P xor Q| <= tolerance |P or Q| for strictly increasing lists.
bool matches(std::span<const index_t> p, std::span<const index_t> q, double tolerance) {
  if (tolerance == 0.0) return std::ranges::equal(p, q);
  std::size_t common = 0;
  for (std::size_t i = 0, j = 0; i < p.size() && j < q.size();) {
    common += p[i] == q[j];
    const bool advance_p = p[i] <= q[j];
    j += q[j] <= p[i];
    i += advance_p;
  }
  const std::size_t together = p.size() + q.size() - common;
  return static_cast<double>(together - common) <= tolerance * static_cast<double>(together);
}

}  // namespace

template <Offset O>
std::vector<index_t> supervariables(const CsrView<const void, O>& pattern, index_t max_size, double tolerance) {
  std::vector<index_t> offsets{0};
  std::vector<index_t> scratch, previous_scratch;
  std::span<const index_t> previous;
  for (index_t row = 0; row < pattern.rows; ++row) {
    const std::span<const index_t> current = column_set(pattern, row, scratch);
    const bool joins = row > 0 && row - offsets.back() < max_size && matches(current, previous, tolerance);
    if (row > 0 && !joins) offsets.push_back(row);
    previous = current;
    std::swap(scratch, previous_scratch);  // keeps what `previous` may refer to
  }
  if (pattern.rows > 0) offsets.push_back(pattern.rows);
  return offsets;
}

template std::vector<index_t> supervariables(const CsrView<const void, std::int32_t>&, index_t, double);
template std::vector<index_t> supervariables(const CsrView<const void, std::int64_t>&, index_t, double);

}  // namespace blockjacobi::detail
