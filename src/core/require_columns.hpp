#pragma once

#include "backend/require.hpp"

namespace blockjacobi::detail {

/// X and Y of these many rows in the backend's memory, as many columns in both, column-major. `x` and `y` name function
/// and argument.
template <class T>
void require_columns(const char* x, const MultiVectorView<const T>& X, index_t rows_of_X,  //
                     const char* y, const MultiVectorView<T>& Y, index_t rows_of_Y, const Backend& backend) {
  require_multivector(x, X, rows_of_X, backend);
  require_multivector(y, Y, rows_of_Y, backend);
  if (X.layout != Layout::column_major) throw InvalidArgument(message("{}: is not column-major", x));
  if (Y.layout != Layout::column_major) throw InvalidArgument(message("{}: is not column-major", y));
  if (X.cols != Y.cols) throw InvalidArgument(message("{}: has {} columns, must have {}", y, Y.cols, X.cols));
}

}  // namespace blockjacobi::detail
