#pragma once

#include "options.hpp"
#include "random_uniform.hpp"
#include "usage_error.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
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

/// A file with one column of `rows` numbers.
template <Scalar T>
std::vector<T> read_vector(const char* option, const std::filesystem::path& path, index_t rows) {
  const auto header = blockjacobi::read_matrix_market_header(path);
  if (header.rows != rows || header.cols != 1)
    throw UsageError(fmt::format("{}: {}:{}: the file holds {} x {} numbers, but the matrix needs {} x 1", option,
                                 path.string(), header.size_line, header.rows, header.cols, rows));
  return blockjacobi::read_matrix_market_dense<T>(path).values;
}

template <Scalar T>
std::vector<T> right_hand_side(const Options& options, const CsrMatrix<T>& A) {
  if (options.rhs == Rhs::file) return read_vector<T>("--rhs", options.rhs_file, A.rows());
  std::vector<T> x(static_cast<std::size_t>(A.rows()), T{1});
  if (options.rhs == Rhs::random) {
    RandomUniform random(1);
    for (T& value : x) value = random.next<T>();
  }
  std::vector<T> b = multiply(A, x);
  require_finite(b);
  return b;
}

template <Scalar T>
std::vector<T> initial_guess(const Options& options, index_t rows) {
  if (options.x0_file.empty()) return std::vector<T>(static_cast<std::size_t>(rows));
  return read_vector<T>("--x0", options.x0_file, rows);
}

}  // namespace solve
