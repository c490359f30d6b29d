#pragma once

#include "core/shared/singular_rule.hpp"
#include "core/shared/sparse_rows.hpp"

namespace blockjacobi::detail {

// A matrix that was computed, as a coarse one is, has rounding errors in proportion to the numbers that it was computed
// from, which may be far larger than its own. A rounding scale of each row says how large they were: |a_ii| of the
// user's matrix, and from there on from level to level.

/// Below this much, scaled by the rounding scales on both sides, a block is singular. In place of zero floating systems
/// have eigenvalues of 1.2 eps at most (docs/kernels/diary/multigrid.md).
template <class R>
BLOCKJACOBI_HD constexpr R rounding_threshold() {
  return R(8) * machine_epsilon<R>();
}

/// Exponent of the power of two that scales a row and its column.
template <class R>
BLOCKJACOBI_HD inline int rounding_exponent(R rounding_scale) {
  return equilibrating_exponent(rounding_scale) >> 1;
}

/// a_ii, the sum of duplicates.
template <class C, class O>
BLOCKJACOBI_HD inline C diagonal_element(const SparseRows<C, O>& a, index_t i) {
  C sum{};
  for (O k = a.begin(i); k < a.end(i); ++k)
    if (a.column(k) == i) sum += a.m.values[k];
  return sum;
}

/// |p_k|^2 times the rounding scale of its column, of entry k of P^H from base 0; without values it has ones.
template <class C>
BLOCKJACOBI_HD inline arithmetic_real_t<C> rounding_scale_term(const CsrView<C, std::int32_t>& adjoint, std::int32_t k,
                                                               const arithmetic_real_t<C>* rounding_scales) {
  const arithmetic_real_t<C> of_column = rounding_scales[adjoint.columns[k]];
  return adjoint.values != nullptr ? norm2(adjoint.values[k]) * of_column : of_column;
}

}  // namespace blockjacobi::detail
