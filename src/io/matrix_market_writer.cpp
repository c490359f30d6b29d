#include "core/message.hpp"
#include "io/matrix_market_header.hpp"
#include "io/symmetry.hpp"
#include "io/text_writer.hpp"

#include <blockjacobi/matrix_market.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

namespace blockjacobi {

namespace {

using detail::TextWriter;

template <Scalar T>
std::string to_text(const T& value) {
  if constexpr (is_complex<T>)
    return detail::message("({}, {})", value.real(), value.imag());
  else
    return detail::message("{}", value);
}

template <Scalar T>
bool is_finite(const T& value) {
  if constexpr (is_complex<T>)
    return std::isfinite(value.real()) && std::isfinite(value.imag());
  else
    return std::isfinite(value);
}

template <Scalar T>
void require_finite(index_t row, index_t col, const T& value) {
  if (!is_finite(value))
    throw InvalidArgument(detail::message(
        "write_matrix_market: entry ({}, {}) is {}, the format holds finite numbers only", row, col, to_text(value)));
}

/// f(row, col, value) in the order of the rows.
template <Scalar T, class F>
void for_each_entry(const CsrMatrix<T>& matrix, F&& f) {
  for (index_t row = 0; row < matrix.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const auto end = static_cast<std::size_t>(matrix.row_offsets()[r + 1]);
    for (auto k = static_cast<std::size_t>(matrix.row_offsets()[r]); k < end; ++k)
      f(row, matrix.columns()[k], matrix.values()[k]);
  }
}

/// The stored a(row, col), or nullptr.
template <Scalar T>
const T* find_entry(const CsrMatrix<T>& matrix, index_t row, index_t col) {
  const auto r = static_cast<std::size_t>(row);
  const auto first = matrix.columns().begin() + matrix.row_offsets()[r];
  const auto last = matrix.columns().begin() + matrix.row_offsets()[r + 1];
  const auto found = std::lower_bound(first, last, col);
  if (found == last || *found != col) return nullptr;
  return &matrix.values()[static_cast<std::size_t>(found - matrix.columns().begin())];
}

/// Whether the diagonal entry may stand in a file of the symmetry. A stored zero on the diagonal of a skew-symmetric
/// matrix may not: the file would lose it.
template <Scalar T>
bool allows_diagonal(MatrixMarketSymmetry symmetry, const T& value) {
  if (symmetry == MatrixMarketSymmetry::skew_symmetric) return false;
  return symmetry != MatrixMarketSymmetry::hermitian || value == detail::mirrored(symmetry, value);
}

template <Scalar T>
void require_symmetry(const CsrMatrix<T>& matrix, MatrixMarketSymmetry symmetry) {
  const char* name = detail::to_string(symmetry);
  if (matrix.rows() != matrix.cols())
    throw InvalidArgument(detail::message("write_matrix_market: the matrix is {} x {}, must be square to be {}",
                                          matrix.rows(), matrix.cols(), name));
  for_each_entry(matrix, [&](index_t row, index_t col, const T& value) {
    if (row == col) {
      if (!allows_diagonal(symmetry, value))
        throw InvalidArgument(detail::message("write_matrix_market: not {}: diagonal entry ({}, {}) is {}", name, row,
                                              col, to_text(value)));
      return;
    }
    const T* partner = find_entry(matrix, col, row);
    if (partner == nullptr)
      throw InvalidArgument(
          detail::message("write_matrix_market: not {}: entry ({}, {}) is {}, entry ({}, {}) is missing", name, row,
                          col, to_text(value), col, row));
    if (*partner != detail::mirrored(symmetry, value))
      throw InvalidArgument(detail::message("write_matrix_market: not {}: entry ({}, {}) is {}, entry ({}, {}) is {}",
                                            name, row, col, to_text(value), col, row, to_text(*partner)));
  });
}

/// Each line of the comment on a line of its own.
void put_comment(TextWriter& out, std::string_view comment) {
  while (!comment.empty()) {
    const std::size_t end = std::min(comment.find('\n'), comment.size());
    out.put(detail::message("% {}\n", comment.substr(0, end)));
    comment.remove_prefix(std::min(end + 1, comment.size()));
  }
}

template <Scalar T>
void put_banner(TextWriter& out, MatrixMarketFormat format, MatrixMarketSymmetry symmetry, std::string_view comment) {
  const auto field = is_complex<T> ? MatrixMarketField::complex : MatrixMarketField::real;
  out.put(detail::message("%%MatrixMarket matrix {} {} {}\n", detail::to_string(format), detail::to_string(field),
                          detail::to_string(symmetry)));
  put_comment(out, comment);
}

template <Scalar T, class... Indices>
void put_entry(TextWriter& out, const T& value, Indices... indices) {
  if constexpr (is_complex<T>)
    out.put_line(indices..., value.real(), value.imag());
  else
    out.put_line(indices..., value);
}

template <Scalar T>
offset_t lower_triangle_entries(const CsrMatrix<T>& matrix) {
  offset_t count = 0;
  for_each_entry(matrix, [&](index_t row, index_t col, const T&) { count += col <= row ? 1 : 0; });
  return count;
}

}  // namespace

template <Scalar T>
void write_matrix_market(const std::filesystem::path& path, const CsrMatrix<T>& matrix, MatrixMarketSymmetry symmetry,
                         const std::string& comment) {
  // why: the format keeps "hermitian" for complex files; a real Hermitian matrix is a symmetric one.
  if (!is_complex<T> && symmetry == MatrixMarketSymmetry::hermitian) symmetry = MatrixMarketSymmetry::symmetric;
  const bool general = symmetry == MatrixMarketSymmetry::general;
  for_each_entry(matrix, [](index_t row, index_t col, const T& value) { require_finite(row, col, value); });
  if (!general) require_symmetry(matrix, symmetry);

  TextWriter out(path);
  put_banner<T>(out, MatrixMarketFormat::coordinate, symmetry, comment);
  const offset_t entries = general ? matrix.nnz() : lower_triangle_entries(matrix);
  out.put(detail::message("{} {} {}\n", matrix.rows(), matrix.cols(), entries));
  for_each_entry(matrix, [&](index_t row, index_t col, const T& value) {
    if (!general && col > row) return;
    put_entry(out, value, row + offset_t{1}, col + offset_t{1});
  });
  out.close();
}

template <Scalar T>
void write_matrix_market(const std::filesystem::path& path, const DenseMatrix<T>& matrix, const std::string& comment) {
  const offset_t size = static_cast<offset_t>(matrix.rows) * matrix.cols;
  if (matrix.rows < 0 || matrix.cols < 0 || static_cast<std::size_t>(size) != matrix.values.size())
    throw InvalidArgument(detail::message("write_matrix_market: a dense {} x {} matrix with {} values", matrix.rows,
                                          matrix.cols, matrix.values.size()));
  for (offset_t k = 0; k < size; ++k)
    require_finite(static_cast<index_t>(k % matrix.rows), static_cast<index_t>(k / matrix.rows),
                   matrix.values[static_cast<std::size_t>(k)]);

  TextWriter out(path);
  put_banner<T>(out, MatrixMarketFormat::array, MatrixMarketSymmetry::general, comment);
  out.put(detail::message("{} {}\n", matrix.rows, matrix.cols));
  for (const T& value : matrix.values) put_entry(out, value);
  out.close();
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                           \
  template void write_matrix_market(const std::filesystem::path&, const CsrMatrix<T>&, MatrixMarketSymmetry, \
                                    const std::string&);                                                     \
  template void write_matrix_market(const std::filesystem::path&, const DenseMatrix<T>&, const std::string&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
