#include "partition/coupling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace blockjacobi::detail {

namespace {

/// Calls visit(row, column, value) for the entries whose row and column fit into max_size rows: all that can share a
/// block, and few of a large matrix.
template <class Visit>
void for_each_near_entry(const CsrMatrix<double>& m, index_t max_size, Visit&& visit) {
  const auto offsets = m.row_offsets();
  for (index_t row = 0; row < m.rows(); ++row)
    for (auto k = static_cast<std::size_t>(offsets[static_cast<std::size_t>(row)]);
         k < static_cast<std::size_t>(offsets[static_cast<std::size_t>(row) + 1]); ++k)
      if (const index_t column = m.columns()[k]; std::abs(row - column) < max_size) visit(row, column, m.values()[k]);
}

std::vector<index_t> block_of_rows(std::span<const index_t> offsets) {
  std::vector<index_t> block(static_cast<std::size_t>(offsets.back()));
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b)
    std::fill(block.begin() + offsets[b], block.begin() + offsets[b + 1], static_cast<index_t>(b));
  return block;
}

}  // namespace

std::vector<index_t> last_coupled(const CsrMatrix<double>& magnitudes, std::span<const index_t> offsets,
                                  index_t max_size, double threshold) {
  const std::vector<index_t> block_of = block_of_rows(offsets);
  const auto block = [&](index_t row) { return static_cast<std::size_t>(block_of[static_cast<std::size_t>(row)]); };

  std::vector<double> root(offsets.size() - 1, 0.0);  // sqrt |A_II|: the product of two can not overflow
  for_each_near_entry(magnitudes, max_size, [&](index_t row, index_t column, double value) {
    if (block(row) == block(column)) root[block(row)] = std::max(root[block(row)], value);
  });
  for (double& r : root) r = std::sqrt(r);

  std::vector<index_t> last(offsets.size() - 1, -1);
  for_each_near_entry(magnitudes, max_size, [&](index_t row, index_t column, double value) {
    const std::size_t low = std::min(block(row), block(column)), high = std::max(block(row), block(column));
    if (low == high || offsets[high + 1] - offsets[low] > max_size) return;
    if (value > 0.0 && value >= threshold * root[low] * root[high])
      last[high] = std::max(last[high], static_cast<index_t>(low));
  });
  return last;
}

}  // namespace blockjacobi::detail
