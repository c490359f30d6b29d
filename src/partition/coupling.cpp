#include "partition/coupling.hpp"

#include "core/csr_pattern.hpp"
#include "core/shared/compute_type.hpp"
#include "core/shared/coupling.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace blockjacobi::detail {

namespace {

/// Calls visit(row, column, |a|) for the entries whose row and column fit into max_size rows: all that can share a
/// block, and few of a large matrix.
template <Scalar T, Offset O, class Visit>
void for_each_near_entry(const CsrView<T, O>& m, index_t max_size, Visit&& visit) {
  const O base = static_cast<O>(m.base);
  const auto* const values = compute_cast(m.values);
  for (index_t row = 0; row < m.rows; ++row)
    for (O k = m.row_offsets[row] - base; k < m.row_offsets[row + offset_t{1}] - base; ++k) {
      const index_t column = m.columns[k] - static_cast<index_t>(m.base);
      if (std::abs(row - column) < max_size) visit(row, column, magnitude(values[k]));
    }
}

std::vector<index_t> block_of_rows(std::span<const index_t> offsets) {
  std::vector<index_t> block(static_cast<std::size_t>(offsets.back()));
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b)
    std::fill(block.begin() + offsets[b], block.begin() + offsets[b + 1], static_cast<index_t>(b));
  return block;
}

}  // namespace

template <Scalar T, Offset O>
std::vector<index_t> last_coupled(const CsrView<T, O>& matrix, std::span<const index_t> offsets, index_t max_size,
                                  double threshold) {
  if (!is_canonical(matrix)) {  // duplicates count by their sum
    const auto summed = CsrMatrix<T>::from_view(matrix);
    return last_coupled(summed.view(), offsets, max_size, threshold);
  }
  const std::vector<index_t> block_of = block_of_rows(offsets);
  const auto block = [&](index_t row) { return static_cast<std::size_t>(block_of[static_cast<std::size_t>(row)]); };

  std::vector<double> root(offsets.size() - 1, 0.0);  // sqrt |A_II|
  for_each_near_entry(matrix, max_size, [&](index_t row, index_t column, double value) {
    if (block(row) == block(column)) root[block(row)] = std::max(root[block(row)], value);
  });
  for (double& r : root) r = std::sqrt(r);

  std::vector<index_t> last(offsets.size() - 1, -1);
  for_each_near_entry(matrix, max_size, [&](index_t row, index_t column, double value) {
    const std::size_t low = std::min(block(row), block(column)), high = std::max(block(row), block(column));
    if (low == high || offsets[high + 1] - offsets[low] > max_size) return;
    if (couples(value, root[low], root[high], threshold)) last[high] = std::max(last[high], static_cast<index_t>(low));
  });
  return last;
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                               \
  template std::vector<index_t> last_coupled(const CsrView<T, std::int32_t>&, std::span<const index_t>, index_t, \
                                             double);                                                            \
  template std::vector<index_t> last_coupled(const CsrView<T, std::int64_t>&, std::span<const index_t>, index_t, double)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
