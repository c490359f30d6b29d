#include "core/symmetry.hpp"

#include "core/shared/compute_type.hpp"
#include "core/shared/symmetry_rule.hpp"

#include <vector>

namespace blockjacobi::detail {

namespace {

/// What the pairs (a_ij, a_ji) looked at so far leave possible.
template <Scalar T>
class Possible {
 public:
  explicit Possible(double tolerance) : tolerance_(tolerance) {}

  void look_at(T a, T opposite) {
    const C left = *compute_cast(&a), right = *compute_cast(&opposite);
    symmetric_ = symmetric_ && is_equal_within(left, right, tolerance_);
    hermitian_ = hermitian_ && is_equal_within(left, conj(right), tolerance_);
  }
  bool none() const { return !symmetric_ && !hermitian_; }
  Symmetry result() const {
    if (is_complex<T> && hermitian_) return Symmetry::hermitian;
    return symmetric_ ? Symmetry::symmetric : Symmetry::none;
  }

 private:
  using C = compute_t<T>;
  double tolerance_;
  bool symmetric_ = true;
  bool hermitian_ = true;
};

}  // namespace

/// As the rows i go by, the entries of each row j are met in the order of their columns i: one cursor a row finds the
/// opposite of every entry without a search.
template <Scalar T, Offset O>
Symmetry find_symmetry(const CsrView<T, O>& m, double tolerance) {
  if (m.rows != m.cols) return Symmetry::none;
  const O base = static_cast<O>(m.base);
  const auto number = [&](O k) { return m.columns[k] - static_cast<index_t>(base); };
  std::vector<O> cursor(static_cast<std::size_t>(m.rows));
  for (index_t row = 0; row < m.rows; ++row) cursor[static_cast<std::size_t>(row)] = m.row_offsets[row] - base;
  Possible<T> possible(tolerance);
  /// Entries of row j before column `end` that no row has met: nothing stands opposite of them.
  const auto pass = [&](index_t j, index_t end) {
    O& k = cursor[static_cast<std::size_t>(j)];
    for (; k < m.row_offsets[j + offset_t{1}] - base && number(k) < end; ++k) possible.look_at(m.values[k], T{});
  };
  for (index_t i = 0; i < m.rows && !possible.none(); ++i)
    for (O k = m.row_offsets[i] - base; k < m.row_offsets[i + offset_t{1}] - base; ++k) {
      const index_t j = number(k);
      pass(j, i);
      O& opposite = cursor[static_cast<std::size_t>(j)];
      const bool there = opposite < m.row_offsets[j + offset_t{1}] - base && number(opposite) == i;
      possible.look_at(m.values[k], there ? m.values[opposite++] : T{});
    }
  for (index_t j = 0; j < m.rows && !possible.none(); ++j) pass(j, m.cols);
  return possible.result();
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
