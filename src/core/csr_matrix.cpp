#include <blockjacobi/csr_matrix.hpp>

#include "core/csr_assembly.hpp"
#include "core/csr_pattern.hpp"
#include "core/message.hpp"

#include <blockjacobi/error.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace blockjacobi {

namespace {

bool strictly_increasing(const index_t* first, const index_t* last) {
  return std::adjacent_find(first, last, [](index_t a, index_t b) { return a >= b; }) == last;
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
    : rows_(rows), cols_(cols), columns_(std::move(columns)), values_(std::move(values)) {
  detail::require_sizes("CsrMatrix", rows, cols, nnz());
  if (row_offsets.size() != static_cast<std::size_t>(rows) + 1)
    throw InvalidArgument(detail::message("CsrMatrix: {} row offsets for {} rows, must be rows + 1 = {}",
                                          row_offsets.size(), rows, static_cast<offset_t>(rows) + 1));
  if (values_.size() != columns_.size())
    throw InvalidArgument(
        detail::message("CsrMatrix: {} values for {} columns, must be as many", values_.size(), columns_.size()));
  const CsrView<T> given{
      rows, cols, nnz(), row_offsets.data(), columns_.data(), values_.data(), IndexBase::zero, MemorySpace::host};
  detail::require_valid("CsrMatrix", detail::pattern_of(given));
  if (!detail::is_canonical(given)) sort_and_sum(row_offsets, columns_, values_);
  row_offsets_ = std::move(row_offsets);
}

template <Scalar T>
CsrMatrix<T> CsrMatrix<T>::from_triplets(index_t rows, index_t cols, std::span<const Triplet<T>> triplets) {
  detail::require_sizes("CsrMatrix::from_triplets", rows, cols, 0);
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
  detail::require_valid("CsrMatrix::from_view", detail::pattern_of(view));
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
  detail::require_valid("validate", detail::pattern_of(view));
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
