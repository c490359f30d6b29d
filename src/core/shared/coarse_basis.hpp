#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>
#include <blockjacobi/views.hpp>

#include <cstdint>

namespace blockjacobi::detail {

/// No group has the row: Z has nothing there.
inline constexpr index_t no_group = -1;

/// Z of a coarse level. Each row belongs to a group, whose columns have nothing elsewhere. C is a compute scalar.
template <class C>
struct CoarseBasisArrays {
  index_t rows = 0;
  index_t groups = 0;
  index_t width = 0;               ///< columns of a group at most
  const index_t* group = nullptr;  ///< of a row, or no_group
  const index_t* first = nullptr;  ///< groups + 1: the first column of a group; null where each has one
  const C* values = nullptr;       ///< rows x width, row by row, the columns of the group first; null for ones

  BLOCKJACOBI_HD index_t first_column(offset_t g) const {
    return first != nullptr ? first[g] : static_cast<index_t>(g);
  }
  BLOCKJACOBI_HD index_t columns(index_t g) const { return first != nullptr ? first[g + 1] - first[g] : 1; }
  /// Of row i, in column v of its group.
  BLOCKJACOBI_HD C value(index_t i, index_t v) const {
    return values != nullptr ? values[offset_t{i} * width + v] : from_real<C>(1);
  }
};

/// (Z c)_i.
template <class C>
BLOCKJACOBI_HD inline C prolonged(const CoarseBasisArrays<C>& basis, offset_t i, const C* c) {
  const index_t g = basis.group[i];
  if (g == no_group) return C{};
  if (basis.values == nullptr) return c[basis.first_column(g)];
  const C* const own = c + basis.first_column(g);
  const C* const row = basis.values + i * basis.width;
  C sum{};
  for (index_t v = 0; v < basis.columns(g); ++v) sum += row[v] * own[v];
  return sum;
}

/// E^-1 of a coarse level as a dense column-major array without gaps: X, or D X D where `scale` holds the diagonal of
/// D.
template <class C, class S>
struct CoarseInverseArrays {
  index_t order = 0;
  const C* full = nullptr;
  const S* single = nullptr;       ///< the same, to be read in its place where *is_single is not 0; may be null
  const int* is_single = nullptr;  ///< in backend memory
  const arithmetic_real_t<C>* scale = nullptr;
};

/// The coarse level of a Z: c = E^-1 (Z^H r - Z^H A y), z = y + Z c for y = M^-1 r; or c = E^-1 Z^H r,
/// z = M^-1 (r - A Z c) + Z c. Arrays in backend memory; S is C or its single precision.
template <class C, class S>
struct CoarseLevelArrays {
  CsrView<C, std::int32_t> restriction;    ///< Z^H; its values are null for ones
  CsrView<C, std::int32_t> left_product;   ///< Z^H A under adef2, else no rows
  CsrView<C, std::int32_t> right_product;  ///< A Z under adef1, else no rows
  CoarseBasisArrays<C> basis;              ///< Z
  CoarseInverseArrays<C, S> inverse;
};

}  // namespace blockjacobi::detail
