#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace bench {

/// C -= A B within a matrix of order n, as a step of a blocked LU does it; A is rows x inner, B inner x columns.
/// Offsets are those of the first element.
struct Update {
  std::string operation;
  int n, rows, columns, inner;
  std::size_t a, b, c;
};

/// Right-looking, what the first panel of `width` columns leaves to be done; later ones are the first of smaller
/// orders.
inline Update trailing_update(int n, int width) {
  const auto w = static_cast<std::size_t>(width), ld = static_cast<std::size_t>(n);
  return {"trailing_" + std::to_string(width), n, n - width, n - width, width, w, w * ld, w + w * ld};
}

/// Left-looking, the panel of `width` columns in the middle of the matrix.
inline Update panel_update(int n, int width) {
  const auto middle = static_cast<std::size_t>(n / 2), ld = static_cast<std::size_t>(n);
  return {"panel_" + std::to_string(width), n, n - n / 2, width, n / 2, middle, middle * ld, middle + middle * ld};
}

}  // namespace bench
