#pragma once

#include "backend/host_tile.hpp"

namespace blockjacobi::detail {

/// A Hermitian matrix of order n of which one triangle is stored, in a rectangle or packed, seen as its upper triangle:
/// the lower one counts as conjugate transposed. The algorithms know only the upper case.
template <class C>
class Triangle {
 public:
  static Triangle rectangular(batched::Triangle which, const MatrixRef<C>& a) {
    return Triangle(a.data, a.rows, a.ld, which == batched::Triangle::upper, false);
  }
  static Triangle packed(batched::Triangle which, C* data, index_t n) {
    return Triangle(data, n, 0, which == batched::Triangle::upper, true);
  }

  index_t order() const { return order_; }
  bool upper() const { return upper_; }

  /// Column j of what is stored: its element i stands at [i].
  C* stored_column(index_t j) const {
    const offset_t column = j;
    if (!packed_) return data_ + column * ld_;
    return upper_ ? data_ + column * (column + 1) / 2 : data_ + column * (2 * offset_t{order_} - column - 1) / 2;
  }

  /// The part of the upper triangle in rows i .. i+rows-1, columns j .. j+cols-1 to a rectangle; elements below the
  /// diagonal are left as they are.
  template <class U>
  void load(index_t i, index_t j, const MatrixRef<U>& to) const {
    if (upper_) {
      for (index_t c = 0; c < to.cols; ++c)
        std::copy_n(stored_column(j + c) + i, std::min(to.rows, j + c - i + 1), to.column(c));
    } else {
      for (index_t r = 0; r < to.rows; ++r) {
        const C* const row = stored_column(i + r) + j;
        for (index_t c = std::max(0, i + r - j); c < to.cols; ++c) to(r, c) = conj(row[c]);
      }
    }
  }

  /// The adjoint of what load() gives of an off-diagonal tile.
  template <class U>
  void load_adjoint(index_t i, index_t j, const MatrixRef<U>& to) const {
    if (upper_) {
      for (index_t r = 0; r < to.rows; ++r) {
        const C* const column = stored_column(j + r) + i;
        for (index_t c = 0; c < to.cols; ++c) to(r, c) = conj(column[c]);
      }
    } else {
      for (index_t c = 0; c < to.cols; ++c) std::copy_n(stored_column(i + c) + j, to.rows, to.column(c));
    }
  }

  /// The reverse of load.
  void store(index_t i, index_t j, const MatrixRef<C>& from) const {
    if (upper_) {
      for (index_t c = 0; c < from.cols; ++c)
        std::copy_n(from.column(c), std::min(from.rows, j + c - i + 1), stored_column(j + c) + i);
    } else {
      for (index_t r = 0; r < from.rows; ++r) {
        C* const row = stored_column(i + r) + j;
        for (index_t c = std::max(0, i + r - j); c < from.cols; ++c) row[c] = conj(from(r, c));
      }
    }
  }

  void fill(C value) const {
    for (index_t j = 0; j < order_; ++j) {
      const index_t first = upper_ ? 0 : j, end = upper_ ? j + 1 : order_;
      std::fill(stored_column(j) + first, stored_column(j) + end, value);
    }
  }

  /// Neither NaN nor Inf; the imaginary part of the diagonal does not count.
  bool all_finite() const {
    for (index_t j = 0; j < order_; ++j) {
      const index_t first = upper_ ? 0 : j + 1, end = upper_ ? j : order_;
      const C* const column = stored_column(j);
      if (!finite(real_part(column[j])) || !detail::all_finite(end - first, column + first)) return false;
    }
    return true;
  }

 private:
  Triangle(C* data, index_t n, index_t ld, bool upper, bool packed)
      : data_(data), order_(n), ld_(ld), upper_(upper), packed_(packed) {}

  C* data_;
  index_t order_;
  index_t ld_;
  bool upper_;
  bool packed_;
};

/// Copies between triangles of the same side. The target may be packed at the start of the source's own storage: no
/// element moves to the right, so that none is overwritten before it is read.
template <class Source, class C>
void copy_triangle(const Triangle<Source>& from, const Triangle<C>& to) {
  for (index_t j = 0; j < to.order(); ++j) {
    const index_t first = to.upper() ? 0 : j, end = to.upper() ? j + 1 : to.order();
    const C* const source = from.stored_column(j);
    C* const target = to.stored_column(j);
    if (source != target) std::copy(source + first, source + end, target + first);
  }
}

/// Sets the other triangle to the conjugate transpose of the stored one.
template <class C>
void mirror(batched::Triangle stored, const MatrixRef<C>& a) {
  for (index_t j = 0; j < a.cols; ++j)
    for (index_t i = 0; i < j; ++i) {
      if (stored == batched::Triangle::upper)
        a(j, i) = conj(a(i, j));
      else
        a(i, j) = conj(a(j, i));
    }
}

}  // namespace blockjacobi::detail
