#pragma once

#include "core/shared/scalar.hpp"

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// Z of a coarse level, as many columns a row everywhere. C is a compute scalar.
template <class C>
struct CoarseBasisArrays {
  index_t rows = 0;
  index_t width = 0;
  const index_t* columns = nullptr;  ///< rows x width, row by row; -1: none
  const C* values = nullptr;         ///< of these columns; null for ones
};

/// (Z c)_i.
template <class C>
BLOCKJACOBI_HD inline C prolonged(const CoarseBasisArrays<C>& basis, offset_t i, const C* c) {
  C sum{};
  for (offset_t k = i * basis.width; k < (i + 1) * basis.width; ++k) {
    const index_t column = basis.columns[k];
    if (column >= 0) sum += basis.values != nullptr ? basis.values[k] * c[column] : c[column];
  }
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

}  // namespace blockjacobi::detail
