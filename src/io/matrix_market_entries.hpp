#pragma once

#include "io/matrix_market_header.hpp"
#include "io/symmetry.hpp"

#include <cstddef>
#include <vector>

namespace blockjacobi::detail {

/// What stands in a file, in its order and before symmetry is expanded. The positions of an array file follow from its
/// header and are not stored.
template <Scalar T>
struct MatrixMarketEntries {
  MatrixMarketHeader header;
  std::vector<index_t> rows;
  std::vector<index_t> cols;
  std::vector<T> values;
};

/// Bytes of one entry.
template <Scalar T>
double entry_bytes(const MatrixMarketHeader& header) {
  return sizeof(T) + (header.format == MatrixMarketFormat::coordinate ? 2.0 * sizeof(index_t) : 0.0);
}

/// Reads a whole file and checks that nothing follows its last entry. Throws ParseError.
template <Scalar T>
MatrixMarketEntries<T> read_entries(const std::filesystem::path& path, const MatrixMarketLimits& limits);

/// First stored row of column `col` of an array file.
inline index_t first_array_row(MatrixMarketSymmetry symmetry, index_t col) {
  switch (symmetry) {
    case MatrixMarketSymmetry::general: return 0;
    case MatrixMarketSymmetry::skew_symmetric: return col + 1;
    case MatrixMarketSymmetry::symmetric:
    case MatrixMarketSymmetry::hermitian: break;
  }
  return col;
}

/// f(row, col, value) for the entries as they stand in the file.
template <Scalar T, class F>
void for_each_stored(const MatrixMarketEntries<T>& entries, F&& f) {
  const MatrixMarketHeader& h = entries.header;
  if (h.format == MatrixMarketFormat::coordinate) {
    for (std::size_t k = 0; k < entries.values.size(); ++k) f(entries.rows[k], entries.cols[k], entries.values[k]);
    return;
  }
  if (h.entries == 0) return;
  std::size_t k = 0;
  for (index_t col = 0; col < h.cols; ++col)
    for (index_t row = first_array_row(h.symmetry, col); row < h.rows; ++row) f(row, col, entries.values[k++]);
}

/// f(row, col, value) for every entry of the matrix: each stored one, and its mirror image right behind it.
// why: side by side, so that a lower triangle ordered by rows or by columns gives rows that are already sorted.
template <Scalar T, class F>
void for_each_expanded(const MatrixMarketEntries<T>& entries, F&& f) {
  const MatrixMarketSymmetry symmetry = entries.header.symmetry;
  if (symmetry == MatrixMarketSymmetry::general) return for_each_stored(entries, f);
  for_each_stored(entries, [&](index_t row, index_t col, const T& value) {
    f(row, col, value);
    if (row != col) f(col, row, mirrored(symmetry, value));
  });
}

}  // namespace blockjacobi::detail
