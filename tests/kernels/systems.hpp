#pragma once

#include "tests/kernels/support.hpp"

namespace blockjacobi::test {

/// Square CSR matrix on the host, base 0.
template <Scalar T>
struct System {
  index_t rows = 0;
  std::vector<std::int64_t> offsets;
  std::vector<index_t> columns;
  std::vector<T> values;
};

/// A System on a backend, with offsets of type O and any base.
template <Scalar T, Offset O>
class DeviceSystem {
 public:
  DeviceSystem(const Backend& backend, const System<T>& a, IndexBase base = IndexBase::zero)
      : rows_(a.rows),
        base_(base),
        offsets_(backend, shifted<O>(a.offsets, base)),
        columns_(backend, shifted<index_t>(a.columns, base)),
        values_(backend, a.values) {}

  CsrView<T, O> view() const {
    return {rows_,          rows_, static_cast<offset_t>(values_.size()), offsets_.data(), columns_.data(),
            values_.data(), base_, values_.backend().memory_space()};
  }

 private:
  template <class To, class From>
  static std::vector<To> shifted(const std::vector<From>& v, IndexBase base) {
    std::vector<To> result(v.size());
    for (std::size_t i = 0; i < v.size(); ++i) result[i] = static_cast<To>(v[i] + static_cast<From>(base));
    return result;
  }

  index_t rows_;
  IndexBase base_;
  Array<O> offsets_;
  Array<index_t> columns_;
  Array<T> values_;
};

/// Five-point stencil on an m x m grid, with weights for the west, east and south, north neighbours.
template <Scalar T>
System<T> stencil(index_t m, T diagonal, T west, T east, T south, T north) {
  System<T> a{m * m, {0}, {}, {}};
  const auto put = [&a](index_t column, T value) {
    a.columns.push_back(column);
    a.values.push_back(value);
  };
  for (index_t row = 0; row < m * m; ++row) {
    const index_t i = row % m, j = row / m;
    if (j > 0) put(row - m, south);
    if (i > 0) put(row - 1, west);
    put(row, diagonal);
    if (i + 1 < m) put(row + 1, east);
    if (j + 1 < m) put(row + m, north);
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

/// Hermitian positive definite; with complex off-diagonals where there are complex numbers.
template <Scalar T>
System<T> laplacian(index_t m) {
  T off(-1);
  if constexpr (is_complex<T>) off = T(real_t<T>(-0.6), real_t<T>(0.8));
  T conjugate = off;
  if constexpr (is_complex<T>) conjugate = std::conj(off);
  return stencil<T>(m, T(real_t<T>(4.2)), off, conjugate, off, conjugate);
}

template <Scalar T>
System<T> convection_diffusion(index_t m) {
  return stencil<T>(m, T(real_t<T>(4.3)), T(real_t<T>(-1.5)), T(real_t<T>(-0.5)), T(real_t<T>(-1.2)),
                    T(real_t<T>(-0.8)));
}

}  // namespace blockjacobi::test
