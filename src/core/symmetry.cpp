#include "core/symmetry.hpp"

#include "core/shared/compute_type.hpp"
#include "core/shared/symmetry_rule.hpp"

#include <vector>

namespace blockjacobi::detail {

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
  /// Entries of row j before column `end` that no row has met: nothing stands opposite of them.
  const auto pass = [&](index_t j, index_t end) {
    O& k = cursor[static_cast<std::size_t>(j)];
    for (; k < m.row_offsets[j + offset_t{1}] - base && number(k) < end; ++k)
      possible.look_at(values[k], {}, tolerance);
  };
  for (index_t i = 0; i < m.rows && !possible.none(); ++i)
    for (O k = m.row_offsets[i] - base; k < m.row_offsets[i + offset_t{1}] - base; ++k) {
      const index_t j = number(k);
      pass(j, i);
      O& opposite = cursor[static_cast<std::size_t>(j)];
      const bool there = opposite < m.row_offsets[j + offset_t{1}] - base && number(opposite) == i;
      possible.look_at(values[k], there ? values[opposite++] : C{}, tolerance);
    }
  for (index_t j = 0; j < m.rows && !possible.none(); ++j) pass(j, m.cols);
  if (possible.hermitian) return Symmetry::hermitian;
  return possible.symmetric ? Symmetry::symmetric : Symmetry::none;
}

#define BLOCKJACOBI_INSTANTIATE(T)                                          \
  template Symmetry find_symmetry(const CsrView<T, std::int32_t>&, double); \
  template Symmetry find_symmetry(const CsrView<T, std::int64_t>&, double)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
