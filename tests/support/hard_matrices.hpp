#pragma once

#include "support/dense.hpp"

#include <string>

namespace blockjacobi::test {

template <Scalar T>
struct NamedMatrix {
  std::string name;
  Dense<T> matrix;
};

template <Scalar T>
Dense<T> uniform_random(index_t rows, index_t cols, Random& random) {
  Dense<T> a(rows, cols);
  for (index_t j = 0; j < cols; ++j)
    for (index_t i = 0; i < rows; ++i) a(i, j) = random.scalar<T>();
  return a;
}

/// A random order of 0..n-1.
inline std::vector<index_t> random_order(index_t n, Random& random) {
  std::vector<index_t> order(static_cast<std::size_t>(n));
  for (index_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  for (index_t i = n - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.index(i + 1))]);
  return order;
}

template <Scalar T>
Dense<T> permutation_matrix(index_t n, Random& random) {
  Dense<T> p = Dense<T>::Zero(n, n);
  const auto order = random_order(n, random);
  for (index_t i = 0; i < n; ++i) p(i, order[static_cast<std::size_t>(i)]) = T(1);
  return p;
}

/// Element i of n from 1 down to 10^-decades, geometrically.
template <Scalar T>
real_t<T> grade(index_t i, index_t n, double decades) {
  return static_cast<real_t<T>>(std::pow(10.0, -decades * i / std::max(1, n - 1)));
}

/// 1 on the diagonal and in the last column, -1 below the diagonal: pivots by rows let the last column double n - 1
/// times (Wilkinson).
template <Scalar T>
Dense<T> growth_matrix(index_t n) {
  Dense<T> a = Dense<T>::Identity(n, n);
  a.template triangularView<Eigen::StrictlyLower>().setConstant(T(-1));
  a.col(n - 1).setOnes();
  return a;
}

template <Scalar T>
Dense<T> hilbert(index_t n) {
  Dense<T> a(n, n);
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < n; ++i) a(i, j) = T(real_t<T>(1) / static_cast<real_t<T>>(i + j + 1));
  return a;
}

/// Regular matrices on which careless elimination fails.
template <Scalar T>
std::vector<NamedMatrix<T>> hard_matrices(index_t n, Random& random) {
  using R = real_t<T>;
  const bool wide = std::is_same_v<R, double>;
  const Dense<T> plain = random_dense<T>(n, random);
  std::vector<NamedMatrix<T>> matrices{{"random", uniform_random<T>(n, n, random)}, {"shifted diagonal", plain}};
  Dense<T> rows = plain, columns = plain, mixed = plain;
  for (index_t i = 0; i < n; ++i) {
    rows.row(i) *= T(grade<T>(i, n, wide ? 12 : 5));
    columns.col(i) *= T(grade<T>(i, n, wide ? 12 : 5));
    mixed.row(i) *= T(static_cast<R>(i % 2 == 0 ? 1e18 : 1e-18));
  }
  matrices.push_back({"row-graded", rows});
  matrices.push_back({"column-graded", columns});
  matrices.push_back({"rows mixed at 1e+-18", mixed});
  Dense<T> triangular = (plain / T(static_cast<R>(n))).template triangularView<Eigen::StrictlyUpper>();
  triangular.diagonal().setConstant(T(1));
  matrices.push_back({"permuted triangular", product(permutation_matrix<T>(n, random), triangular)});
  matrices.push_back({"permutation", permutation_matrix<T>(n, random)});
  if (n <= (wide ? 8 : 4)) matrices.push_back({"Hilbert", hilbert<T>(n)});
  // Beyond one panel of the blocked algorithms, sums of many powers of two replace doubling, which alone is exact.
  if (n <= 32) matrices.push_back({"growth", growth_matrix<T>(n)});
  const R large = static_cast<R>(wide ? 1e150 : 1e18), small = static_cast<R>(wide ? 1e-150 : 1e-18);
  matrices.push_back({"scaled up", plain * T(large)});
  matrices.push_back({"scaled down", plain * T(small)});
  return matrices;
}

/// A few of them for large orders, since the residuals take long.
template <Scalar T>
std::vector<NamedMatrix<T>> large_matrices(index_t n, Random& random) {
  auto matrices = hard_matrices<T>(n, random);
  matrices.erase(matrices.begin() + 5, matrices.end());
  if (n > 200) matrices.erase(matrices.begin() + 1, matrices.begin() + 4);
  return matrices;
}

/// Singular in a way that no rounding hides, with the first zero pivot that elimination meets.
template <Scalar T>
std::vector<Dense<T>> singular_matrices(index_t n, Random& random) {
  std::vector<Dense<T>> matrices{Dense<T>::Zero(n, n)};
  for (const index_t zero : {0, n / 2, n - 1}) {
    matrices.push_back(random_dense<T>(n, random));
    matrices.back().col(zero).setZero();
  }
  matrices.push_back(random_dense<T>(n, random));
  matrices.back().row(n / 3).setZero();
  matrices.push_back(Dense<T>::Ones(n, n));
  if (n == 1) matrices.back().setZero();
  return matrices;
}

template <Scalar T>
std::vector<Dense<T>> without_names(const std::vector<NamedMatrix<T>>& named) {
  std::vector<Dense<T>> matrices;
  for (const auto& m : named) matrices.push_back(m.matrix);
  return matrices;
}

/// Hermitian positive definite, well conditioned up to a two-sided diagonal scale.
template <Scalar T>
std::vector<NamedMatrix<T>> spd_matrices(index_t n, Random& random) {
  using R = real_t<T>;
  const bool wide = std::is_same_v<R, double>;
  const Dense<T> b = uniform_random<T>(n, n, random);
  Dense<T> plain = product(b, Dense<T>(b.adjoint()));
  plain.diagonal().array() += T(1);
  plain.diagonal() = plain.diagonal().real().template cast<T>().eval();
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < j; ++i) plain(i, j) = Eigen::numext::conj(plain(j, i));
  Dense<T> graded = plain;
  for (index_t i = 0; i < n; ++i) {
    graded.row(i) *= T(grade<T>(i, n, wide ? 6 : 3));
    graded.col(i) *= T(grade<T>(i, n, wide ? 6 : 3));
  }
  for (index_t j = 0; j < n; ++j)
    for (index_t i = 0; i < j; ++i) graded(i, j) = Eigen::numext::conj(graded(j, i));
  const R large = static_cast<R>(wide ? 1e150 : 1e18), small = static_cast<R>(wide ? 1e-150 : 1e-18);
  return {{"random", plain}, {"graded", graded}, {"scaled up", plain * T(large)}, {"scaled down", plain * T(small)}};
}

}  // namespace blockjacobi::test
