#pragma once

#include <blockjacobi/views.hpp>

#include <vector>

namespace blockjacobi::detail {

/// The blocks of a matrix in block rows, the columns of a row ascending, and where their elements come from: see
/// BsrView and BsrSources. With blocks of 1 that is the canonical form of a matrix in compressed rows.
struct BlockPattern {
  index_t block = 0;
  std::vector<offset_t> row_offsets{0};
  std::vector<index_t> columns;
  std::vector<offset_t> first;
  std::vector<offset_t> next;  ///< empty without duplicates
};

/// O(nnz) but for the sort of each row, of a valid pattern on the host; `block` divides its rows and columns.
template <Offset O>
BlockPattern block_pattern(const CsrView<const void, O>& matrix, index_t block);

}  // namespace blockjacobi::detail
