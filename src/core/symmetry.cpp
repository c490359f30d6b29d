#include "core/symmetry.hpp"

#include "core/shared/compute_type.hpp"
#include "core/shared/symmetry_rule.hpp"
#include "core/sparse_matrix_impl.hpp"

#include <algorithm>
#include <vector>

namespace blockjacobi::detail {

namespace {

/// sqrt(|a_ii a_jj|). Not inlined: few pairs ask for it.
template <Scalar T, Offset O>
[[gnu::noinline]] double mean_of_diagonal(const CsrView<T, O>& m, index_t i, index_t j) {
  const auto base = static_cast<index_t>(m.base);
  const auto diagonal = [&](index_t row) {
    const index_t* const end = m.columns + (m.row_offsets[row + offset_t{1}] - base);
    const index_t* const found = std::lower_bound(m.columns + (m.row_offsets[row] - base), end, row + base);
    return found != end && *found == row + base ? compute_cast(m.values)[found - m.columns] : compute_t<T>{};
  };
  return geometric_mean(diagonal(i), diagonal(j));
}

}  // namespace

/// As the rows i go by, the entries of each row j are met in the order of their columns i: one cursor a row finds the
/// opposite of every entry without a search.
template <Scalar T, Offset O>
Symmetry find_symmetry(const CsrView<T, O>& m, double tolerance) {
  if (m.rows != m.cols) return Symmetry::none;
  using C = compute_t<T>;
  const O base = static_cast<O>(m.base);
  const auto number = [&](O k) { return m.columns[k] - static_cast<index_t>(base); };
  std::vector<O> cursor(static_cast<std::size_t>(m.rows));
  for (index_t row = 0; row < m.rows; ++row) cursor[static_cast<std::size_t>(row)] = m.row_offsets[row] - base;
  PossibleSymmetry<C> possible;
  const auto* const values = compute_cast(m.values);
  const auto look_at = [&](index_t i, O k, C opposite) {
    possible.look_at(values[k], opposite, tolerance, [&] { return mean_of_diagonal(m, i, number(k)); });
  };
  /// Entries of row j before column `end` that no row has met: nothing stands opposite of them.
  const auto pass = [&](index_t j, index_t end) {
    O& k = cursor[static_cast<std::size_t>(j)];
    for (; k < m.row_offsets[j + offset_t{1}] - base && number(k) < end; ++k) look_at(j, k, {});
  };
  for (index_t i = 0; i < m.rows && !possible.none(); ++i)
    for (O k = m.row_offsets[i] - base; k < m.row_offsets[i + offset_t{1}] - base; ++k) {
      const index_t j = number(k);
      pass(j, i);
      O& opposite = cursor[static_cast<std::size_t>(j)];
      const bool there = opposite < m.row_offsets[j + offset_t{1}] - base && number(opposite) == i;
      look_at(i, k, there ? values[opposite++] : C{});
    }
  for (index_t j = 0; j < m.rows && !possible.none(); ++j) pass(j, m.cols);
  if (possible.hermitian) return Symmetry::hermitian;
  return possible.symmetric ? Symmetry::symmetric : Symmetry::none;
}

template <Scalar T>
bool is_hermitian_but_for_rounding(const SparseMatrix<T>& matrix) {
  if (matrix.is_hermitian()) return true;
  const SparseMatrixOptions& stated = matrix.impl()->stated;
  if (stated.symmetry || stated.symmetry_tolerance >= assembly_rounding<T>) return false;
  const Symmetry found = matrix.impl()->symmetry_within(assembly_rounding<T>);
  return found == (is_complex<T> ? Symmetry::hermitian : Symmetry::symmetric);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                          \
  template Symmetry find_symmetry(const CsrView<T, std::int32_t>&, double); \
  template Symmetry find_symmetry(const CsrView<T, std::int64_t>&, double); \
  template bool is_hermitian_but_for_rounding(const SparseMatrix<T>&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
