#pragma once

#include "core/shared/columns_view.hpp"
#include "core/shared/macros.hpp"

#include <cstddef>

namespace blockjacobi::detail {

/// Columns of a bundle: of doubles, a row of it is two sectors of device memory, and four rows fill a warp.
inline constexpr index_t bundle_width = 8;

/// How the solvers hold several columns of length n: in bundles of bundle_width columns, one bundle after the other. A
/// bundle is row-major, so that an entry of the matrix is read once and multiplied with neighbours in memory. Places
/// behind the last column of the last bundle hold finite numbers that nobody uses.
struct Bundles {
  index_t n = 0;
  index_t columns = 0;

  BLOCKJACOBI_HD index_t count() const { return (columns + bundle_width - 1) / bundle_width; }
  /// Columns with those places.
  BLOCKJACOBI_HD index_t padded_columns() const { return count() * bundle_width; }
  BLOCKJACOBI_HD offset_t elements() const { return static_cast<offset_t>(padded_columns()) * n; }
  /// Element 0 of a column; its elements are bundle_width apart.
  BLOCKJACOBI_HD offset_t first(index_t column) const {
    return static_cast<offset_t>(column / bundle_width) * n * bundle_width + column % bundle_width;
  }
  /// Columns of a bundle.
  BLOCKJACOBI_HD index_t columns_of(index_t bundle) const {
    const index_t rest = columns - bundle * bundle_width;
    return rest < bundle_width ? rest : bundle_width;
  }
  /// One bundle as the columns that it has.
  template <class T>
  ColumnsView<T> view(T* data, index_t bundle) const {
    return {data + first(bundle * bundle_width), bundle_width, 1, columns_of(bundle)};
  }
};

}  // namespace blockjacobi::detail
