#pragma once

#include "core/shared/storage_format.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace blockjacobi::detail {

/// Elements of a column-major n x n block to and from the parts of a format other than packed.
template <class R>
void encode_parts(Format format, const R* x, int count, int exponent, std::byte* to) {
  const R factor = power_of_two(R(), -exponent);
  with_format(format, [&]<Format f>(FormatTag<f>) {
    using Part = StoredPart<f, R>;
    auto* const stored = reinterpret_cast<typename Part::type*>(to);
    for (int k = 0; k < count; ++k) stored[k] = Part::encode(x[k] * factor);
  });
}
template <class R>
void decode_parts(Format format, const std::byte* from, int count, int exponent, R* x) {
  const R factor = power_of_two(R(), exponent);
  with_format(format, [&]<Format f>(FormatTag<f>) {
    using Part = StoredPart<f, R>;
    const auto* const stored = reinterpret_cast<const typename Part::type*>(from);
    for (int k = 0; k < count; ++k) x[k] = Part::decode(stored[k]) * factor;
  });
}

/// Reals of an element.
template <class C>
inline constexpr int parts_of = static_cast<int>(sizeof(C) / sizeof(arithmetic_real_t<C>));

/// The exponent with which a block of order n is stored.
template <class C>
int block_exponent(Format format, const C* x, int n) {
  using R = arithmetic_real_t<C>;
  const R* const parts = reinterpret_cast<const R*>(x);
  R largest = 0;
  for (int k = 0; k < n * n * parts_of<C>; ++k) largest = std::max(largest, abs1(parts[k]));
  return storage_exponent(format, largest);
}

/// Whether a row or column with non-zeros is stored as zeros alone.
template <class C>
bool loses_a_line(Format format, const C* x, int n) {
  using R = arithmetic_real_t<C>;
  const R down = power_of_two(R(), -block_exponent(format, x, n));
  bool lost = false;
  with_format(format, [&]<Format f>(FormatTag<f>) {
    for (int line = 0; line < 2 * n && !lost; ++line) lost = is_lost<f>(x, n, line, down);
  });
  return lost;
}

/// Writes an inverse in its format; returns the exponent.
template <class C>
int encode_block(Format format, const C* x, int n, std::byte* to) {
  using R = arithmetic_real_t<C>;
  if (format == Format::packed) {
    C* next = reinterpret_cast<C*>(to);
    for (int j = 0; j < n; ++j) {
      *next++ = from_real<C>(real_part(x[j * (n + 1)]));
      for (int i = j + 1; i < n; ++i) *next++ = hermitian_mean(x[i + j * n], x[j + i * n]);
    }
    return 0;
  }
  const int exponent = block_exponent(format, x, n);
  encode_parts(format, reinterpret_cast<const R*>(x), n * n * parts_of<C>, exponent, to);
  return exponent;
}

/// Columns first .. first + count - 1 of an inverse that is not packed, from where column 0 begins.
template <class C>
void decode_columns(Format format, const std::byte* from, int n, int exponent, int first, int count, C* x) {
  using R = arithmetic_real_t<C>;
  const offset_t column_bytes = offset_t{n} * parts_of<C> * format_part_bytes(format, sizeof(R));
  decode_parts(format, from + first * column_bytes, n * count * parts_of<C>, exponent, reinterpret_cast<R*>(x));
}

/// ||I - A X|| in the infinity norm, column-major matrices of order n.
template <class C>
arithmetic_real_t<C> right_residual(const C* a, const C* x, int n) {
  using R = arithmetic_real_t<C>;
  std::array<R, max_block_size> sum;
  std::array<C, max_block_size> column;
  std::fill_n(sum.begin(), n, R(0));
  for (int j = 0; j < n; ++j) {
    std::fill_n(column.begin(), n, C{});
    column[static_cast<std::size_t>(j)] = from_real<C>(R(1));
    for (int k = 0; k < n; ++k) {
      const C factor = x[k + j * n];
      for (int i = 0; i < n; ++i) column[static_cast<std::size_t>(i)] -= a[i + k * n] * factor;
    }
    for (int i = 0; i < n; ++i) sum[static_cast<std::size_t>(i)] += modulus(column[static_cast<std::size_t>(i)]);
  }
  R norm = 0;
  for (int i = 0; i < n; ++i)
    if (norm == norm && !(sum[static_cast<std::size_t>(i)] <= norm)) norm = sum[static_cast<std::size_t>(i)];
  return norm;
}

/// Whether a block is Hermitian up to rounding in its assembly.
template <class C>
bool is_hermitian(const C* a, int n) {
  for (int j = 0; j < n; ++j)
    for (int i = j; i < n; ++i)
      if (!is_hermitian_pair(a[i + j * n], a[j + i * n], a[i * (n + 1)], a[j * (n + 1)])) return false;
  return true;
}

}  // namespace blockjacobi::detail
