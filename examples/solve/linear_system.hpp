#pragma once

#include "options.hpp"
#include "random_uniform.hpp"
#include "usage_error.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <fmt/format.h>

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

/// A file with one column of `rows` numbers.
template <Scalar T>
std::vector<T> read_vector(const char* option, const std::filesystem::path& path, index_t rows) {
  auto dense = blockjacobi::read_matrix_market_dense<T>(path);
  if (dense.rows != rows || dense.cols != 1)
    throw UsageError(fmt::format("{}: {} holds {} x {} numbers, but the matrix needs {} x 1", option, path.string(),
                                 dense.rows, dense.cols, rows));
  return std::move(dense.values);
}

template <Scalar T>
std::vector<T> right_hand_side(const Options& options, const CsrMatrix<T>& A) {
  if (options.rhs == Rhs::file) return read_vector<T>("--rhs", options.rhs_file, A.rows());
  std::vector<T> x(static_cast<std::size_t>(A.rows()), T{1});
  if (options.rhs == Rhs::random) {
    RandomUniform random(1);
    for (T& value : x) value = random.next<T>();
  }
  return multiply(A, x);
}

template <Scalar T>
std::vector<T> initial_guess(const Options& options, index_t rows) {
  if (options.x0_file.empty()) return std::vector<T>(static_cast<std::size_t>(rows));
  return read_vector<T>("--x0", options.x0_file, rows);
}

}  // namespace solve
