#pragma once

#include <blockjacobi/types.hpp>

namespace blockjacobi::detail {

/// Several vectors, the columns of a matrix; element (i, k) is data[i row_stride + k column_stride].
template <class T>
struct ColumnsView {
  T* data = nullptr;
  offset_t row_stride = 1;
  offset_t column_stride = 0;
  index_t count = 1;
};

}  // namespace blockjacobi::detail
