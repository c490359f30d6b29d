#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::kernels {

/// The first entry of low .. high - 1, whose columns increase, with at least that column; `high` if there is none.
__device__ inline offset_t first_not_below(const index_t* columns, offset_t low, offset_t high, offset_t column) {
  while (low < high) {
    const offset_t middle = (low + high) / 2;
    if (columns[middle] < column)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

}  // namespace blockjacobi::kernels
