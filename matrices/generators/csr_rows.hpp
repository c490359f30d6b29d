#pragma once

#include <blockjacobi/csr_matrix.hpp>

#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace blockjacobi::matrices::detail {

/// Appends the entries of one row.
template <Scalar T>
class RowWriter {
 public:
  RowWriter(index_t* column, T* value) : column_(column), value_(value) {}

  void push(index_t column, T value) {
    *column_++ = column;
    *value_++ = value;
  }

 private:
  index_t* column_;
  T* value_;
};

/// Fewer rows are not worth waking threads for.
inline constexpr index_t parallel_rows = 4096;

/// Builds a square matrix in CSR order, rows in parallel: `count(row)` entries, pushed by `fill(row, RowWriter<T>&)`.
/// Neither function may throw.
template <Scalar T, class Count, class Fill>
CsrMatrix<T> build_rows(index_t rows, Count&& count, Fill&& fill) {
  std::vector<offset_t> offsets(static_cast<std::size_t>(rows) + 1, 0);
#pragma omp parallel for schedule(static) if (rows >= parallel_rows)
  for (index_t row = 0; row < rows; ++row) offsets[static_cast<std::size_t>(row) + 1] = count(row);
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());

  std::vector<index_t> columns(static_cast<std::size_t>(offsets.back()));
  std::vector<T> values(columns.size());
#pragma omp parallel for schedule(static) if (rows >= parallel_rows)
  for (index_t row = 0; row < rows; ++row) {
    const offset_t start = offsets[static_cast<std::size_t>(row)];
    RowWriter<T> writer(columns.data() + start, values.data() + start);
    fill(row, writer);
  }
  return CsrMatrix<T>(rows, rows, std::move(offsets), std::move(columns), std::move(values));
}

}  // namespace blockjacobi::matrices::detail
