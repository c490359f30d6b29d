#pragma once

#include "backends/systems.hpp"

namespace blockjacobi::test {

/// What two products A x may differ by, row by row, or two residuals b - A x for a `b`: a row of t entries is off by
/// (t + 2) eps (|b| + |A| |x|) at most, in complex arithmetic by three times that. (N. J. Higham, "Accuracy and
/// stability of numerical algorithms", chapter 3)
template <Scalar T>
std::vector<double> rounding_of_rows(const CsrMatrix<T>& a, const std::vector<T>& x, const std::vector<T>& b = {}) {
  const double eps = static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
  std::vector<double> rows;
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.rows()); ++i) {
    const auto begin = static_cast<std::size_t>(a.row_offsets()[i]),
               end = static_cast<std::size_t>(a.row_offsets()[i + 1]);
    double sum = b.empty() ? 0.0 : std::abs(b[i]);
    for (std::size_t k = begin; k < end; ++k)
      sum += static_cast<double>(std::abs(a.values()[k])) * std::abs(x[static_cast<std::size_t>(a.columns()[k])]);
    rows.push_back(2 * (is_complex<T> ? 3 : 1) * static_cast<double>(end - begin + 2) * eps * sum);
  }
  return rows;
}

/// y is A x but for rounding.
template <Scalar T>
void expect_product(const CsrMatrix<T>& a, const std::vector<T>& x, const std::vector<T>& y) {
  const std::vector<T> expected = product(a, x);
  const std::vector<double> tolerance = rounding_of_rows(a, x);
  ASSERT_EQ(y.size(), expected.size());
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_LE(std::abs(y[i] - expected[i]), tolerance[i]) << i;
}

/// What two norms of n numbers may differ by, relative to them: squares in the precision of the numbers, and sums in
/// double in any order, of which the root has half the error. (Higham, chapter 4)
template <Scalar T>
double rounding_of_norm(std::size_t n) {
  return 2 * static_cast<double>(std::numeric_limits<real_t<T>>::epsilon()) +
         static_cast<double>(n) * std::numeric_limits<double>::epsilon();
}

/// What two values of ||b - A x|| may differ by.
template <Scalar T>
double rounding_of_residual(const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
  return norm(rounding_of_rows(a, x, b)) + rounding_of_norm<T>(b.size()) * residual(a, b, x) * norm(b);
}

/// What `updates` of x leave of b - A x at most, though a recurrence claims that nothing is left. Each rounds x, and
/// with it A x by eps / 2 |A| |x|: no more than a twentieth of rounding_of_rows() where a row has three entries.
/// Products with the steps round by as much as one with x, if the steps together are no more than three times as long.
/// (A. Greenbaum, "Estimating the attainable accuracy of recursively computed residual methods", 1997)
template <Scalar T>
double rounding_of_updates(const CsrMatrix<T>& a, const std::vector<T>& b, const std::vector<T>& x, index_t updates) {
  return (1.0 + updates / 20.0) * rounding_of_residual(a, b, x);
}

}  // namespace blockjacobi::test
