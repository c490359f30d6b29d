#include "core/block_pattern.hpp"

#include <algorithm>
#include <cstddef>

namespace blockjacobi::detail {

namespace {

/// The block columns of every block row, ascending.
template <Offset O>
void find_blocks(const CsrView<const void, O>& m, BlockPattern& p) {
  const O base = static_cast<O>(m.base);
  const index_t block_rows = m.rows / p.block;
  std::vector<index_t> last_seen(static_cast<std::size_t>(m.cols / p.block), -1);
  for (index_t row = 0; row < block_rows; ++row) {
    const std::size_t begin = p.columns.size();
    const O end = m.row_offsets[static_cast<std::size_t>(row + 1) * static_cast<std::size_t>(p.block)] - base;
    for (O k = m.row_offsets[static_cast<std::size_t>(row) * static_cast<std::size_t>(p.block)] - base; k < end; ++k) {
      const index_t column = (m.columns[k] - static_cast<index_t>(base)) / p.block;
      index_t& seen = last_seen[static_cast<std::size_t>(column)];
      if (seen == row) continue;
      seen = row;
      p.columns.push_back(column);
    }
    std::sort(p.columns.begin() + static_cast<std::ptrdiff_t>(begin), p.columns.end());
    p.row_offsets.push_back(static_cast<offset_t>(p.columns.size()));
  }
}

/// The chains of sources, in the order of the entries.
template <Offset O>
void find_sources(const CsrView<const void, O>& m, BlockPattern& p) {
  const O base = static_cast<O>(m.base);
  const auto b = static_cast<offset_t>(p.block);
  p.first.assign(p.columns.size() * static_cast<std::size_t>(b * b), -1);
  std::vector<offset_t> place(static_cast<std::size_t>(m.cols / p.block));  // of a block column in the block row
  for (index_t row = 0; row < m.rows / p.block; ++row) {
    for (offset_t k = p.row_offsets[static_cast<std::size_t>(row)];
         k < p.row_offsets[static_cast<std::size_t>(row) + 1]; ++k)
      place[static_cast<std::size_t>(p.columns[static_cast<std::size_t>(k)])] = k;
    for (offset_t i = 0; i < b; ++i) {
      const O* offsets = m.row_offsets + row * b + i;
      // Backwards, so that each entry goes before the later ones of its element.
      for (O k = offsets[1] - base; k-- > offsets[0] - base;) {
        const index_t column = m.columns[k] - static_cast<index_t>(base);
        const offset_t block = place[static_cast<std::size_t>(column / p.block)];
        offset_t& source = p.first[static_cast<std::size_t>((block * b + column % p.block) * b + i)];
        if (source >= 0) {
          if (p.next.empty()) p.next.assign(static_cast<std::size_t>(m.nnz), -1);
          p.next[static_cast<std::size_t>(k)] = source;
        }
        source = k;
      }
    }
  }
}

}  // namespace

template <Offset O>
BlockPattern block_pattern(const CsrView<const void, O>& matrix, index_t block) {
  BlockPattern pattern;
  pattern.block = block;
  find_blocks(matrix, pattern);
  find_sources(matrix, pattern);
  return pattern;
}

template BlockPattern block_pattern(const CsrView<const void, std::int32_t>&, index_t);
template BlockPattern block_pattern(const CsrView<const void, std::int64_t>&, index_t);

}  // namespace blockjacobi::detail
