#include "core/csr_pattern.hpp"

#include "core/message.hpp"

#include <blockjacobi/error.hpp>

#include <limits>
#include <utility>

namespace blockjacobi::detail {

namespace {

template <Offset O>
void require_offsets(const char* function, const CsrView<const void, O>& view) {
  const offset_t base = static_cast<offset_t>(view.base);
  const O* offsets = view.row_offsets;
  if (offsets == nullptr)
    throw InvalidArgument(message("{}: row_offsets is null, must hold rows + 1 = {} offsets", function,
                                  static_cast<offset_t>(view.rows) + 1));
  if (offsets[0] != base)
    throw InvalidArgument(message("{}: row_offsets[0] is {}, must be {}, the base", function, offsets[0], base));
  for (index_t row = 0; row < view.rows; ++row)
    if (offsets[row + offset_t{1}] < offsets[row])
      throw InvalidArgument(message("{}: row {} starts at offset {} and ends at {}; offsets must not decrease",
                                    function, row, offsets[row], offsets[row + offset_t{1}]));
  if (offsets[view.rows] - base != view.nnz)
    throw InvalidArgument(message("{}: row_offsets[{}] is {}, must be nnz + base = {} + {}", function, view.rows,
                                  offsets[view.rows], view.nnz, base));
}

/// The smallest and the largest of `count` columns; without a branch, for this looks at every entry of a matrix.
std::pair<index_t, index_t> column_range(const index_t* columns, offset_t count) {
  index_t least = std::numeric_limits<index_t>::max(), most = std::numeric_limits<index_t>::min();
  for (offset_t k = 0; k < count; ++k) {
    least = std::min(least, columns[k]);
    most = std::max(most, columns[k]);
  }
  return {least, most};
}

/// The offsets are known to be good.
template <Offset O>
void require_columns(const char* function, const CsrView<const void, O>& view) {
  const offset_t base = static_cast<offset_t>(view.base);
  if (view.nnz > 0 && view.columns == nullptr)
    throw InvalidArgument(message("{}: columns is null, must hold nnz = {} columns", function, view.nnz));
  const auto [least, most] = column_range(view.columns, view.nnz);
  if (view.nnz == 0 || (least >= base && most < view.cols + base)) return;
  for (index_t row = 0; row < view.rows; ++row) {
    const offset_t end = view.row_offsets[row + offset_t{1}] - base;
    for (offset_t k = view.row_offsets[row] - base; k < end; ++k)
      if (view.columns[k] < base || view.columns[k] >= view.cols + base)
        throw InvalidArgument(message("{}: row {} holds column {} (position {}), must be >= {} and < {}", function, row,
                                      view.columns[k], k, base, view.cols + base));
  }
}

}  // namespace

void require_sizes(const char* function, index_t rows, index_t cols, offset_t nnz) {
  if (rows < 0) throw InvalidArgument(message("{}: rows is {}, must be >= 0", function, rows));
  if (cols < 0) throw InvalidArgument(message("{}: cols is {}, must be >= 0", function, cols));
  if (nnz < 0) throw InvalidArgument(message("{}: nnz is {}, must be >= 0", function, nnz));
}

template <Offset O>
void require_valid(const char* function, const CsrView<const void, O>& view) {
  if (view.space != MemorySpace::host)
    throw InvalidArgument(
        message("{}: the matrix lies on the {}, must be on the host", function, to_string(view.space)));
  require_sizes(function, view.rows, view.cols, view.nnz);
  require_offsets(function, view);
  require_columns(function, view);
}

template void require_valid(const char*, const CsrView<const void, std::int32_t>&);
template void require_valid(const char*, const CsrView<const void, std::int64_t>&);

}  // namespace blockjacobi::detail
