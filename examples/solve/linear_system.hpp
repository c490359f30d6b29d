#pragma once

#include "options.hpp"
#include "random_uniform.hpp"
#include "usage_error.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

namespace solve {

using blockjacobi::CsrMatrix;
using blockjacobi::Scalar;

/// b = A x on the host, so that every backend solves for the same bits.
template <Scalar T>
std::vector<T> multiply(const CsrMatrix<T>& A, const std::vector<T>& x) {
  std::vector<T> b(x.size());
  for (std::size_t i = 0; i < b.size(); ++i) {
    T sum{};
    const auto end = static_cast<std::size_t>(A.row_offsets()[i + 1]);
    for (auto k = static_cast<std::size_t>(A.row_offsets()[i]); k < end; ++k)
      sum += A.values()[k] * x[static_cast<std::size_t>(A.columns()[k])];
    b[i] = sum;
  }
  return b;
}

/// What a file holds is finite, a product of finite numbers need not be.
template <Scalar T>
void require_finite(const std::vector<T>& b) {
  const auto finite = [](const T& value) { return std::isfinite(std::real(value)) && std::isfinite(std::imag(value)); };
  const auto found = std::find_if_not(b.begin(), b.end(), finite);
  if (found != b.end())
    throw UsageError(fmt::format("--rhs: row {} of A x (0-based) is past the range of the scalar; give b as a file",
                                 found - b.begin()));
}

/// What belongs to the matrix, in the numbering of its file; columns of b and x0 go together.
template <Scalar T>
struct Vectors {
  blockjacobi::DenseMatrix<T> b;
  blockjacobi::DenseMatrix<T> x0;
  blockjacobi::DenseMatrix<T> coarse;  ///< of Options::coarse_file; no columns without
};

template <Scalar T>
std::vector<T> column_of(const blockjacobi::DenseMatrix<T>& vectors, index_t column) {
  const auto first = vectors.values.begin() + static_cast<blockjacobi::offset_t>(column) * vectors.rows;
  return {first, first + vectors.rows};
}

/// How many columns a file may have.
struct ColumnRange {
  index_t fewest, most;
};

inline constexpr ColumnRange any_columns{1, std::numeric_limits<index_t>::max()};

/// A file of `rows` numbers a column.
template <Scalar T>
blockjacobi::DenseMatrix<T> read_columns(const char* option, const std::filesystem::path& path, index_t rows,
                                         ColumnRange columns) {
  const auto header = blockjacobi::read_matrix_market_header(path);
  if (header.rows != rows || header.cols < columns.fewest || header.cols > columns.most) {
    const std::string range = columns.fewest == columns.most     ? ""
                              : columns.most == any_columns.most ? ", or more columns"
                                                                 : fmt::format(" to {}", columns.most);
    throw UsageError(fmt::format("{}: {}:{}: the file holds {} x {} numbers, but the matrix needs {} x {}{}", option,
                                 path.string(), header.size_line, header.rows, header.cols, rows, columns.fewest,
                                 range));
  }
  return blockjacobi::read_matrix_market_dense<T>(path);
}

template <Scalar T>
blockjacobi::DenseMatrix<T> right_hand_side(const Options& options, const CsrMatrix<T>& A) {
  if (options.rhs == Rhs::file) return read_columns<T>("--rhs", options.rhs_file, A.rows(), any_columns);
  std::vector<T> x(static_cast<std::size_t>(A.rows()), T{1});
  if (options.rhs == Rhs::random) {
    RandomUniform random(1);
    for (T& value : x) value = random.next<T>();
  }
  std::vector<T> b = multiply(A, x);
  require_finite(b);
  return {A.rows(), 1, std::move(b)};
}

template <Scalar T>
Vectors<T> read_vectors(const Options& options, const CsrMatrix<T>& A) {
  Vectors<T> vectors;
  vectors.b = right_hand_side(options, A);
  const index_t columns = vectors.b.cols;
  if (options.x0_file.empty())
    vectors.x0 = {A.rows(), columns, std::vector<T>(vectors.b.values.size())};
  else
    vectors.x0 = read_columns<T>("--x0", options.x0_file, A.rows(), {columns, columns});
  if (!options.coarse_file.empty())
    vectors.coarse = read_columns<T>(vectors_option(options.coarse), options.coarse_file, A.rows(),
                                     {1, blockjacobi::max_block_size});
  return vectors;
}

}  // namespace solve
