#pragma once

#include "core/shared/coarse_basis.hpp"

#include <cstdint>

namespace blockjacobi::detail {

/// On which side of A the coarse space stands in the product that is kept: Z^H A, or A Z.
enum class CoarseSide { left, right };

/// Which entries of A make which elements of the product with Z, and which of these make E = Z^H A Z. A *segment* is a
/// group of Z with a column of Z^H A (a row of A Z), the entries of A that meet there being its terms; a *pair* is two
/// groups, whose elements of E are made of the pair's segments. Both stand in ascending order, the group of the row of
/// E first.
struct CoarseSums {
  CoarseSide side = CoarseSide::left;
  index_t segments = 0;
  index_t pairs = 0;
  const std::int32_t* begin = nullptr;   ///< segments + 1: the first term
  const std::int32_t* entry = nullptr;   ///< of A, a term
  const index_t* row = nullptr;          ///< of Z, a term; null where Z has ones
  const index_t* group = nullptr;        ///< of a segment
  const index_t* other = nullptr;        ///< of a segment: the column of Z^H A, or the row of A Z
  const std::int32_t* place = nullptr;   ///< of the first element of a segment in the product
  const std::int32_t* stride = nullptr;  ///< by group: from one element of a segment to its next; null: 1

  const std::int32_t* pair_begin = nullptr;   ///< pairs + 1: the first of its segments
  const index_t* segment = nullptr;           ///< the segments, pair by pair
  const index_t* pair_row = nullptr;          ///< group
  const index_t* pair_column = nullptr;       ///< group
  const std::int32_t* pair_place = nullptr;   ///< of its first element in E
  const std::int32_t* pair_stride = nullptr;  ///< by group: elements of a row of E
};

/// Where element v of segment s stands in the product.
BLOCKJACOBI_HD inline offset_t place_in_product(const CoarseSums& sums, index_t s, index_t v) {
  return sums.place[s] + (sums.stride != nullptr ? offset_t{v} * sums.stride[sums.group[s]] : offset_t{v});
}

/// Element v of segment s of Z^H A or A Z; `values` are those of A.
template <class C>
BLOCKJACOBI_HD inline C product_element(const CoarseSums& sums, const CoarseBasisArrays<C>& z, index_t s, index_t v,
                                        const C* values) {
  C sum{};
  for (std::int32_t t = sums.begin[s]; t < sums.begin[s + 1]; ++t) {
    const C a = values[sums.entry[t]];
    if (sums.row == nullptr) {
      sum += a;
      continue;
    }
    const C factor = z.value(sums.row[t], v);
    sum += (sums.side == CoarseSide::left ? conj(factor) : factor) * a;
  }
  return sum;
}

/// What segment s adds to element (v, u) of its pair.
template <class C>
BLOCKJACOBI_HD inline C galerkin_term(const CoarseSums& sums, const CoarseBasisArrays<C>& z, index_t s, index_t v,
                                      index_t u, const C* product) {
  const bool left = sums.side == CoarseSide::left;
  const C element = product[place_in_product(sums, s, left ? v : u)];
  if (sums.row == nullptr) return element;
  const C factor = z.value(sums.other[s], left ? u : v);
  return (left ? factor : conj(factor)) * element;
}

}  // namespace blockjacobi::detail
