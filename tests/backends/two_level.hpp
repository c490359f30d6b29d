#pragma once

#include "backends/systems.hpp"
#include "support/dense.hpp"

#include <limits>
#include <type_traits>

namespace blockjacobi::test {

/// Single precision stops at four, before what is smooth has cost block-Jacobi many iterations.
template <Scalar T>
constexpr bool to_eight_digits = std::is_same_v<real_t<T>, double>;

template <Scalar T>
SolveOptions reachable() {
  return options_for<T>(to_eight_digits<T> ? 1e-8 : 1e-4);
}

template <Scalar T>
double epsilon() {
  return static_cast<double>(std::numeric_limits<real_t<T>>::epsilon());
}

/// The columns op(e_1), op(e_2), ...
template <Scalar T, class Apply>
WideDense<T> dense_of(const Backend& backend, index_t n, Apply op) {
  WideDense<T> all(n, n);
  for (index_t j = 0; j < n; ++j) {
    std::vector<T> unit(static_cast<std::size_t>(n));
    unit[static_cast<std::size_t>(j)] = T(1);
    Array<T> in(backend, unit), out(backend, unit.size());
    op(std::as_const(in).view(), out.view());
    const std::vector<T> column = out.to_host();
    all.col(j) = Eigen::Map<const Dense<T>>(column.data(), n, 1).template cast<typename Wide<T>::type>();
  }
  return all;
}
template <Scalar T>
WideDense<T> dense(const CsrMatrix<T>& a) {
  WideDense<T> wide = WideDense<T>::Zero(a.rows(), a.cols());
  for (index_t i = 0; i < a.rows(); ++i)
    for (offset_t k = a.row_offsets()[static_cast<std::size_t>(i)];
         k < a.row_offsets()[static_cast<std::size_t>(i) + 1]; ++k)
      wide(i, a.columns()[static_cast<std::size_t>(k)]) = a.values()[static_cast<std::size_t>(k)];
  return wide;
}

template <Scalar T>
void expect_near(const WideDense<T>& found, const WideDense<T>& expected, double factor) {
  EXPECT_LE(static_cast<double>((found - expected).norm()),
            factor * epsilon<T>() * static_cast<double>(expected.norm()));
}

/// -1, 2, -1 in both directions of an m x m grid without boundary: the ones span its kernel.
template <Scalar T>
CsrMatrix<T> floating_grid(index_t m) {
  std::vector<Triplet<T>> entries;
  const auto couple = [&](index_t a, index_t b) {
    entries.insert(entries.end(), {{a, b, T(-1)}, {b, a, T(-1)}, {a, a, T(1)}, {b, b, T(1)}});
  };
  for (index_t i = 0; i < m; ++i)
    for (index_t j = 0; j < m; ++j) {
      if (i + 1 < m) couple(i * m + j, (i + 1) * m + j);
      if (j + 1 < m) couple(i * m + j, i * m + j + 1);
    }
  return CsrMatrix<T>::from_triplets(m * m, m * m, entries);
}

/// D A D with powers of two, which leave the strengths and so the aggregates as they are.
template <Scalar T>
CsrMatrix<T> rescaled(CsrMatrix<T> a) {
  const auto power = [](index_t i) { return static_cast<real_t<T>>(std::ldexp(1.0, i * 7 % 5 - 2)); };
  for (index_t i = 0; i < a.rows(); ++i)
    for (auto k = static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i)]);
         k < static_cast<std::size_t>(a.row_offsets()[static_cast<std::size_t>(i) + 1]); ++k)
      a.values()[k] *= power(i) * power(a.columns()[k]);
  return a;
}

}  // namespace blockjacobi::test
