#pragma once

#include "tests/kernels/support.hpp"
#include "tests/support/csr_arrays.hpp"

namespace blockjacobi::test {

/// As the verbs of the seam take it.
template <Scalar T>
detail::compute_t<T>* data_of(const Array<T>& vector) {
  return detail::compute_cast(vector.data());
}

/// Square CSR matrix on the host, base 0.
template <Scalar T>
struct System {
  index_t rows = 0;
  std::vector<std::int64_t> offsets;
  std::vector<index_t> columns;
  std::vector<T> values;
};

/// Its arrays on a backend.
template <Offset O, Scalar T>
CsrArrays<T, O> on(const Backend& backend, const System<T>& a, IndexBase base = IndexBase::zero) {
  return {backend, a.rows, a.rows, a.offsets, a.columns, a.values, base};
}

/// Of the rows of a matrix: the most entries, and the largest sum and the least dominance of their absolute values.
struct RowSums {
  double terms = 0, norm = 0, dominance = std::numeric_limits<double>::infinity();
};
template <Scalar T>
RowSums row_sums(const System<T>& a) {
  RowSums all;
  auto& [terms, norm, dominance] = all;
  for (index_t row = 0; row < a.rows; ++row) {
    const auto first = static_cast<std::size_t>(a.offsets[static_cast<std::size_t>(row)]);
    const auto last = static_cast<std::size_t>(a.offsets[static_cast<std::size_t>(row) + 1]);
    double sum = 0, diagonal = 0;
    for (std::size_t e = first; e < last; ++e) (a.columns[e] == row ? diagonal : sum) += std::abs(a.values[e]);
    terms = std::max(terms, static_cast<double>(last - first));
    norm = std::max(norm, diagonal + sum);
    dominance = std::min(dominance, diagonal - sum);
  }
  return all;
}

/// What two backends may differ by in an element of A x, or of b - A x for elements of b up to `right`, for elements of
/// x up to `largest`.
template <Scalar T>
double rounding_of_product(const System<T>& a, double largest, double right = 0) {
  const auto [terms, norm, dominance] = row_sums(a);
  return rounding_of_sum<T>(terms, norm * largest + right);
}

/// What two backends may differ by after some iterations, relative to the largest element. A^-1 brings what a product
/// leaves in the residual into the solution, so that cond(A) counts. An inverse of order N leaves N eps times its
/// condition, here about 3, in z. To first order the errors of iterations and those of the two backends add up.
/// (Higham, chapters 3 and 17)
template <Scalar T>
double rounding_of_iterations(const System<T>& a, int iterations, int order = 0) {
  const auto [terms, norm, dominance] = row_sums(a);
  EXPECT_GT(dominance, 0) << "||A^-1|| is known of dominant matrices: at most 1 / dominance";
  return 2 * complex_rounding<T> * iterations * ((terms + 2) * norm / dominance + 3 * order) * epsilon<T>;
}

/// Five-point stencil on an m x m grid, with weights for the west, east and south, north neighbours.
template <Scalar T>
System<T> stencil(index_t m, T diagonal, T west, T east, T south, T north) {
  System<T> a{m * m, {0}, {}, {}};
  const auto put = [&a](index_t column, T value) {
    a.columns.push_back(column);
    a.values.push_back(value);
  };
  for (index_t row = 0; row < m * m; ++row) {
    const index_t i = row % m, j = row / m;
    if (j > 0) put(row - m, south);
    if (i > 0) put(row - 1, west);
    put(row, diagonal);
    if (i + 1 < m) put(row + 1, east);
    if (j + 1 < m) put(row + m, north);
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

/// Hermitian positive definite; with complex off-diagonals where there are complex numbers.
template <Scalar T>
System<T> laplacian(index_t m) {
  T off(-1);
  if constexpr (is_complex<T>) off = T(real_t<T>(-0.6), real_t<T>(0.8));
  T conjugate = off;
  if constexpr (is_complex<T>) conjugate = std::conj(off);
  return stencil<T>(m, T(real_t<T>(4.2)), off, conjugate, off, conjugate);
}

template <Scalar T>
System<T> convection_diffusion(index_t m) {
  return stencil<T>(m, T(real_t<T>(4.3)), T(real_t<T>(-1.5)), T(real_t<T>(-0.5)), T(real_t<T>(-1.2)),
                    T(real_t<T>(-0.8)));
}

}  // namespace blockjacobi::test
