#pragma once

#include "core/shared/compute_type.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace blockjacobi::detail {

/// sum += x s for a number of elements known at compile time. Left to itself g++ 12 unrolls this and the loop around it
/// at 8 and 16, and vectorizes neither; up to 4 that is what is wanted.
template <int count, class C>
void add_multiple(const C* x, C s, C* sum) {
  if constexpr (count <= 4) {
    for (int i = 0; i < count; ++i) sum[i] += x[i] * s;
  } else {
#pragma omp simd
    for (int i = 0; i < count; ++i) sum[i] += x[i] * s;
  }
}

/// Rows of a product whose sums stand in half of the registers of SSE2.
template <class C>
inline constexpr int product_rows = Arithmetic<C>::is_complex ? 64 / static_cast<int>(sizeof(C)) : 16;

/// sum += X r for so many rows of X, whose columns are ld apart. Inline, else g++ 12 keeps the sums in memory.
template <int rows, class C>
[[gnu::always_inline]] inline void add_rows_product(const C* x, std::ptrdiff_t ld, int columns, const C* r, C* sum) {
  constexpr auto size = static_cast<std::size_t>(rows);
  if constexpr (Arithmetic<C>::is_complex) {
    // Sums for the real and the imaginary parts of r, so that no part of X changes its place.
    using R = arithmetic_real_t<C>;
    R by_re[2 * size] = {}, by_im[2 * size] = {};
    for (int c = 0; c < columns; ++c, x += ld) {
      const R* const parts = reinterpret_cast<const R*>(x);
      add_multiple<2 * rows>(parts, r[c].re, by_re);
      add_multiple<2 * rows>(parts, r[c].im, by_im);
    }
    for (std::size_t i = 0; i < size; ++i) {
      sum[i].re += by_re[2 * i] - by_im[2 * i + 1];
      sum[i].im += by_re[2 * i + 1] + by_im[2 * i];
    }
  } else {
    C own[size];
    std::copy_n(sum, rows, own);
    for (int c = 0; c < columns; ++c, x += ld) add_multiple<rows>(x, r[c], own);
    std::copy_n(own, rows, sum);
  }
}

/// sum += X r for a column-major X without gaps, of `columns` columns; N is the number of its rows, or 0 for `rows`.
template <int N, class C>
void add_product(const C* x, int rows, int columns, const C* r, C* sum) {
  if constexpr (N > 0) {
    for (int c = 0; c < columns; ++c) add_multiple<N>(x + static_cast<std::ptrdiff_t>(c) * N, r[c], sum);
  } else {
    constexpr int most = product_rows<C>;
    int i = 0;
    const auto add_rows = [&]<int count>(std::integral_constant<int, count>) {
      add_rows_product<count>(x + i, rows, columns, r, sum + i);
      i += count;
    };
    while (i + most <= rows) add_rows(std::integral_constant<int, most>{});
    const int rest = rows - i;
    if (most > 8 && (rest & 8) != 0) add_rows(std::integral_constant<int, 8>{});
    if (most > 4 && (rest & 4) != 0) add_rows(std::integral_constant<int, 4>{});
    if ((rest & 2) != 0) add_rows(std::integral_constant<int, 2>{});
    if ((rest & 1) != 0) add_rows(std::integral_constant<int, 1>{});
  }
}

}  // namespace blockjacobi::detail
