#include "core/csr_assembly.hpp"
#include "core/message.hpp"
#include "io/matrix_market_entries.hpp"
#include "io/reading_limits.hpp"

#include <blockjacobi/matrix_market.hpp>

#include <algorithm>
#include <new>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace blockjacobi {

namespace {

using detail::MatrixMarketEntries;

template <Scalar T>
bool is_row_ordered(const MatrixMarketEntries<T>& entries) {
  return entries.header.format == MatrixMarketFormat::coordinate &&
         entries.header.symmetry == MatrixMarketSymmetry::general &&
         std::is_sorted(entries.rows.begin(), entries.rows.end());
}

/// f(), which allocates the `bytes` that the sizes ask for; a tiny file may announce a matrix that no memory holds.
template <class F>
auto within_memory(const std::filesystem::path& path, MatrixMarketHeader h, const MatrixMarketLimits& limits,
                   const char* what, double bytes, F&& f) {
  detail::require_memory(path, h, limits, what, bytes);
  try {
    return f();
  } catch (const std::bad_alloc&) {
    detail::throw_no_memory(path, h, what);
  } catch (const std::length_error&) {
    detail::throw_no_memory(path, h, what);
  }
}

/// The entries stand in the order of their rows: their arrays become those of the matrix.
template <Scalar T>
CsrMatrix<T> adopt_row_ordered(MatrixMarketEntries<T>&& entries) {
  const MatrixMarketHeader& h = entries.header;
  std::vector<offset_t> offsets(static_cast<std::size_t>(h.rows) + 1, 0);
  for (const index_t row : entries.rows) ++offsets[static_cast<std::size_t>(row) + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  entries.rows = {};
  return CsrMatrix<T>(h.rows, h.cols, std::move(offsets), std::move(entries.cols), std::move(entries.values));
}

}  // namespace

template <Scalar T>
CsrMatrix<T> read_matrix_market(const std::filesystem::path& path, const MatrixMarketLimits& limits) {
  MatrixMarketEntries<T> entries = detail::read_entries<T>(path, limits);
  const double bytes = static_cast<double>(sizeof(offset_t)) * entries.header.rows +
                       static_cast<double>(entries.values.size()) * (sizeof(T) + sizeof(index_t));
  return within_memory(path, entries.header, limits, "a sparse", bytes, [&] {
    if (is_row_ordered(entries)) return adopt_row_ordered(std::move(entries));
    return detail::assemble_by_rows<T>(entries.header.rows, entries.header.cols,
                                       [&](auto&& f) { detail::for_each_expanded(entries, f); });
  });
}

template <Scalar T>
DenseMatrix<T> read_matrix_market_dense(const std::filesystem::path& path, const MatrixMarketLimits& limits) {
  MatrixMarketEntries<T> entries = detail::read_entries<T>(path, limits);
  const MatrixMarketHeader& h = entries.header;
  if (h.format == MatrixMarketFormat::array && h.symmetry == MatrixMarketSymmetry::general)
    return {h.rows, h.cols, std::move(entries.values)};
  const auto size = static_cast<std::size_t>(static_cast<offset_t>(h.rows) * h.cols);
  const double bytes = static_cast<double>(sizeof(T)) * static_cast<double>(size);
  DenseMatrix<T> matrix{h.rows, h.cols,
                        within_memory(path, h, limits, "a dense", bytes, [&] { return std::vector<T>(size); })};
  detail::for_each_expanded(entries, [&](index_t row, index_t col, const T& value) {
    matrix.values[static_cast<std::size_t>(row + static_cast<offset_t>(col) * h.rows)] += value;
  });
  return matrix;
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                   \
  template CsrMatrix<T> read_matrix_market(const std::filesystem::path&, const MatrixMarketLimits&); \
  template DenseMatrix<T> read_matrix_market_dense(const std::filesystem::path&, const MatrixMarketLimits&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
