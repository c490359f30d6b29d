#pragma once

#include "core/shared/position_map.hpp"

namespace blockjacobi::detail {

/// What a block needs of the position map.
struct BlockExtent {
  offset_t entries = 0;
  offset_t first_source = 0;
  offset_t row_stride = 0;
  bool narrow = true;

  BLOCKJACOBI_HD offset_t words() const { return row_stride != 0 ? 0 : entries; }

  /// Once the entries are known, of which `last` is the last, and whether they stand at row_stride_.
  BLOCKJACOBI_HD void finish(offset_t n, offset_t last, bool is_regular, offset_t row_stride_) {
    constexpr int bits = map_bits<std::uint32_t>;
    constexpr offset_t span = offset_t{0xFFFFFFFF} >> 2 * bits;
    if (is_regular && entries == n * n) row_stride = row_stride_;
    narrow = row_stride != 0 || (n <= 1 << bits && last - first_source <= span);
  }
};

}  // namespace blockjacobi::detail
