#include <blockjacobi/csr_matrix.hpp>

#include "core/csr_assembly.hpp"
#include "core/message.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace blockjacobi {

namespace {

void require_sizes(const char* function, index_t rows, index_t cols, offset_t nnz) {
  if (rows < 0) throw InvalidArgument(detail::message("{}: rows is {}, must be >= 0", function, rows));
  if (cols < 0) throw InvalidArgument(detail::message("{}: cols is {}, must be >= 0", function, cols));
  if (nnz < 0) throw InvalidArgument(detail::message("{}: nnz is {}, must be >= 0", function, nnz));
}

template <Scalar T, Offset O>
void require_offsets(const char* function, const CsrView<T, O>& view) {
  const offset_t base = static_cast<offset_t>(view.base);
  const O* offsets = view.row_offsets;
  if (offsets == nullptr)
    throw InvalidArgument(detail::message("{}: row_offsets is null, must hold rows + 1 = {} offsets", function,
                                          static_cast<offset_t>(view.rows) + 1));
  if (offsets[0] != base)
    throw InvalidArgument(
        detail::message("{}: row_offsets[0] is {}, must be {}, the base", function, offsets[0], base));
  for (index_t row = 0; row < view.rows; ++row)
    if (offsets[row + offset_t{1}] < offsets[row])
      throw InvalidArgument(detail::message("{}: row {} starts at offset {} and ends at {}; offsets must not decrease",
                                            function, row, offsets[row], offsets[row + offset_t{1}]));
  if (offsets[view.rows] - base != view.nnz)
    throw InvalidArgument(detail::message("{}: row_offsets[{}] is {}, must be nnz + base = {} + {}", function,
                                          view.rows, offsets[view.rows], view.nnz, base));
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
template <Scalar T, Offset O>
void require_columns(const char* function, const CsrView<T, O>& view) {
  const offset_t base = static_cast<offset_t>(view.base);
  if (view.nnz > 0 && view.columns == nullptr)
    throw InvalidArgument(detail::message("{}: columns is null, must hold nnz = {} columns", function, view.nnz));
  const auto [least, most] = column_range(view.columns, view.nnz);
  if (view.nnz == 0 || (least >= base && most < view.cols + base)) return;
  for (index_t row = 0; row < view.rows; ++row) {
    const offset_t end = view.row_offsets[row + offset_t{1}] - base;
    for (offset_t k = view.row_offsets[row] - base; k < end; ++k)
      if (view.columns[k] < base || view.columns[k] >= view.cols + base)
        throw InvalidArgument(detail::message("{}: row {} holds column {} (position {}), must be >= {} and < {}",
                                              function, row, view.columns[k], k, base, view.cols + base));
  }
}

template <Scalar T, Offset O>
void require_csr(const char* function, const CsrView<T, O>& view) {
  if (view.space != MemorySpace::host)
    throw InvalidArgument(
        detail::message("{}: the matrix lies on the {}, must be on the host", function, to_string(view.space)));
  require_sizes(function, view.rows, view.cols, view.nnz);
  require_offsets(function, view);
  require_columns(function, view);
}

bool strictly_increasing(const index_t* first, const index_t* last) {
  return std::adjacent_find(first, last, [](index_t a, index_t b) { return a >= b; }) == last;
}

bool rows_are_canonical(const std::vector<offset_t>& offsets, const std::vector<index_t>& columns) {
  for (std::size_t row = 0; row + 1 < offsets.size(); ++row)
    if (!strictly_increasing(columns.data() + offsets[row], columns.data() + offsets[row + 1])) return false;
  return true;
}

template <Scalar T>
struct RowEntry {
  index_t col;
  offset_t position;
  T value;
};

/// Sorts the entries of one row by column; position breaks ties, so that duplicates keep their order.
template <Scalar T>
void gather_sorted_row(const std::vector<index_t>& columns, const std::vector<T>& values, offset_t begin, offset_t end,
                       std::vector<RowEntry<T>>& row) {
  row.clear();
  for (offset_t k = begin; k < end; ++k)
    row.push_back({columns[static_cast<std::size_t>(k)], k, values[static_cast<std::size_t>(k)]});
  if (strictly_increasing(columns.data() + begin, columns.data() + end)) return;
  std::sort(row.begin(), row.end(), [](const RowEntry<T>& a, const RowEntry<T>& b) {
    return a.col != b.col ? a.col < b.col : a.position < b.position;
  });
}

/// Sorts every row and sums its duplicates, in place: what is written never overtakes what is still to be read.
template <Scalar T>
void sort_and_sum(std::vector<offset_t>& offsets, std::vector<index_t>& columns, std::vector<T>& values) {
  std::vector<RowEntry<T>> row;
  std::size_t size = 0;
  offset_t begin = 0;
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r) {
    const offset_t end = offsets[r + 1];
    gather_sorted_row(columns, values, begin, end, row);
    const std::size_t row_start = size;
    for (const RowEntry<T>& entry : row) {
      if (size > row_start && columns[size - 1] == entry.col) {
        values[size - 1] += entry.value;
      } else {
        columns[size] = entry.col;
        values[size++] = entry.value;
      }
    }
    offsets[r + 1] = static_cast<offset_t>(size);
    begin = end;
  }
  columns.resize(size);
  values.resize(size);
}

}  // namespace

template <Scalar T>
CsrMatrix<T>::CsrMatrix(index_t rows, index_t cols, std::vector<offset_t> row_offsets, std::vector<index_t> columns,
                        std::vector<T> values)
    : rows_(rows),
      cols_(cols),
      row_offsets_(std::move(row_offsets)),
      columns_(std::move(columns)),
      values_(std::move(values)) {
  require_sizes("CsrMatrix", rows, cols, nnz());
  if (row_offsets_.size() != static_cast<std::size_t>(rows) + 1)
    throw InvalidArgument(detail::message("CsrMatrix: {} row offsets for {} rows, must be rows + 1 = {}",
                                          row_offsets_.size(), rows, static_cast<offset_t>(rows) + 1));
  if (values_.size() != columns_.size())
    throw InvalidArgument(
        detail::message("CsrMatrix: {} values for {} columns, must be as many", values_.size(), columns_.size()));
  require_csr("CsrMatrix", view());
  if (!rows_are_canonical(row_offsets_, columns_)) sort_and_sum(row_offsets_, columns_, values_);
}

template <Scalar T>
CsrMatrix<T> CsrMatrix<T>::from_triplets(index_t rows, index_t cols, std::span<const Triplet<T>> triplets) {
  require_sizes("CsrMatrix::from_triplets", rows, cols, 0);
  for (std::size_t k = 0; k < triplets.size(); ++k) {
    const Triplet<T>& t = triplets[k];
    if (t.row < 0 || t.row >= rows || t.col < 0 || t.col >= cols)
      throw InvalidArgument(detail::message("CsrMatrix::from_triplets: entry {} stands at ({}, {}), outside {} x {}", k,
                                            t.row, t.col, rows, cols));
  }
  return detail::assemble_by_rows<T>(rows, cols, [&](auto&& f) {
    for (const Triplet<T>& t : triplets) f(t.row, t.col, t.value);
  });
}

template <Scalar T>
template <Offset O>
CsrMatrix<T> CsrMatrix<T>::from_view(const CsrView<T, O>& view) {
  require_csr("CsrMatrix::from_view", view);
  if (view.nnz > 0 && view.values == nullptr)
    throw InvalidArgument(detail::message("CsrMatrix::from_view: values is null, must hold nnz = {} values", view.nnz));
  const auto base = static_cast<index_t>(view.base);
  std::vector<offset_t> offsets(static_cast<std::size_t>(view.rows) + 1);
  std::transform(view.row_offsets, view.row_offsets + offsets.size(), offsets.begin(),
                 [base](O offset) { return static_cast<offset_t>(offset) - base; });
  std::vector<index_t> columns(static_cast<std::size_t>(view.nnz));
  std::transform(view.columns, view.columns + view.nnz, columns.begin(), [base](index_t col) { return col - base; });
  return CsrMatrix(view.rows, view.cols, std::move(offsets), std::move(columns),
                   std::vector<T>(view.values, view.values + view.nnz));
}

template <Scalar T, Offset O>
void validate(const CsrView<T, O>& view) {
  require_csr("validate", view);
}

template class CsrMatrix<float>;
template class CsrMatrix<double>;
template class CsrMatrix<std::complex<float>>;
template class CsrMatrix<std::complex<double>>;

#define BLOCKJACOBI_INSTANTIATE(T, O)                                  \
  template CsrMatrix<T> CsrMatrix<T>::from_view(const CsrView<T, O>&); \
  template void validate(const CsrView<T, O>&)
BLOCKJACOBI_INSTANTIATE(float, std::int32_t);
BLOCKJACOBI_INSTANTIATE(float, std::int64_t);
BLOCKJACOBI_INSTANTIATE(double, std::int32_t);
BLOCKJACOBI_INSTANTIATE(double, std::int64_t);
BLOCKJACOBI_INSTANTIATE(std::complex<float>, std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::complex<float>, std::int64_t);
BLOCKJACOBI_INSTANTIATE(std::complex<double>, std::int32_t);
BLOCKJACOBI_INSTANTIATE(std::complex<double>, std::int64_t);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
