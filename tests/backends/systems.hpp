#pragma once

#include "support/random.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace blockjacobi::test {

/// Entries of grid_matrix().
template <Scalar T>
std::vector<Triplet<T>> grid_entries(index_t m, double wind) {
  std::vector<Triplet<T>> entries;
  const auto node = [m](index_t i, index_t j) { return i * m + j; };
  const auto add = [&](index_t row, index_t col, double re, double im) {
    if constexpr (is_complex<T>)
      entries.push_back({row, col, T(static_cast<real_t<T>>(re), static_cast<real_t<T>>(im))});
    else
      entries.push_back({row, col, static_cast<T>(re)});
  };
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < m; ++j) {
      add(node(i, j), node(i, j), 4.2, 0.0);
      if (i > 0) add(node(i, j), node(i - 1, j), -1.0, 0.3);
      if (i + 1 < m) add(node(i, j), node(i + 1, j), -1.0, -0.3);
      if (j > 0) add(node(i, j), node(i, j - 1), -1.0 - wind, 0.0);
      if (j + 1 < m) add(node(i, j), node(i, j + 1), -1.0 + wind, 0.0);
    }
  return entries;
}

/// 5-point Laplacian on an m x m grid, plus `wind` on the eastern neighbour (nonsymmetric) and, for complex scalars, a
/// Hermitian phase.
template <Scalar T>
CsrMatrix<T> grid_matrix(index_t m, double wind = 0.0) {
  return CsrMatrix<T>::from_triplets(m * m, m * m, grid_entries<T>(m, wind));
}

/// grid_matrix() for m >= 20 whose first node is weakly coupled with 300 others: diagonally dominant, with a row so
/// much longer than the mean that CUDA has cuSPARSE multiply.
template <Scalar T>
CsrMatrix<T> long_row_matrix(index_t m) {
  std::vector<Triplet<T>> entries = grid_entries<T>(m, 0.0);
  const T weak(static_cast<real_t<T>>(-0.005));
  for (index_t i = 100; i < 400; ++i) {
    entries.push_back({0, i, weak});
    entries.push_back({i, 0, weak});
  }
  return CsrMatrix<T>::from_triplets(m * m, m * m, entries);
}

template <Scalar T>
std::vector<T> random_vector(index_t n, std::uint64_t seed) {
  Random random(seed);
  std::vector<T> v(static_cast<std::size_t>(n));
  for (T& value : v) value = random.scalar<T>();
  return v;
}

template <Scalar T>
std::vector<T> product(const CsrMatrix<T>& a, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i)
    for (offset_t k = a.row_offsets()[i]; k < a.row_offsets()[i + 1]; ++k)
      y[i] += a.values()[static_cast<std::size_t>(k)] *
              x[static_cast<std::size_t>(a.columns()[static_cast<std::size_t>(k)])];
  return y;
}

template <Scalar T>
double norm(const std::vector<T>& v) {
  double sum = 0.0;
  for (const T& value : v) sum += static_cast<double>(std::norm(value));
  return std::sqrt(sum);
}

/// ||b - A x|| / ||b|| on the host, by other code than the library's.
template <Scalar T>
double residual(const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  std::vector<T> r = product(a, x);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = b[i] - r[i];
  return norm(r) / norm(b);
}

template <Scalar T>
SolveOptions options_for(double digits = 0.0) {
  SolveOptions options;
  options.rtol = digits > 0.0 ? digits : std::is_same_v<real_t<T>, double> ? 1e-10 : 1e-5;
  return options;
}

template <Scalar T>
void expect_solved(const SolveReport& report, const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x,
                   double rtol) {
  EXPECT_EQ(report.reason, StopReason::converged) << to_text(report);
  EXPECT_LE(report.relative_residual(), rtol);
  const double slack = 4 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) * std::sqrt(double(x.size()));
  EXPECT_NEAR(residual(a, b, x), report.relative_residual(), slack);
  EXPECT_EQ(report.history.size(), static_cast<std::size_t>(report.iterations) + 1);
  EXPECT_NEAR(report.rhs_norm, norm(b), 1e-5 * norm(b));
}

template <Scalar T>
CsrMatrix<T> diagonal(const std::vector<double>& values) {
  std::vector<Triplet<T>> entries;
  for (std::size_t i = 0; i < values.size(); ++i)
    entries.push_back({static_cast<index_t>(i), static_cast<index_t>(i), T(static_cast<real_t<T>>(values[i]))});
  const auto n = static_cast<index_t>(values.size());
  return CsrMatrix<T>::from_triplets(n, n, entries);
}

}  // namespace blockjacobi::test
