#pragma once

#include "core/shared/columns_view.hpp"
#include "core/shared/compute_type.hpp"

#include <blockjacobi/views.hpp>

namespace blockjacobi::detail {

// From public scalars to those of the seam: once, where a verb is called.

template <Scalar T>
compute_t<T> compute_value(T value) {
  return *compute_cast(&value);
}

template <class T>
auto compute_view(const BlockBatchView<T>& v) {
  auto* const data = compute_cast(v.data);
  using C = std::remove_pointer_t<decltype(data)>;
  return BlockBatchView<C>{data, v.slots, v.groups, v.blocks, v.rows, v.space};
}

template <class T>
auto compute_view(const ColumnsView<T>& v) {
  auto* const data = compute_cast(v.data);
  using C = std::remove_pointer_t<decltype(data)>;
  return ColumnsView<C>{data, v.row_stride, v.column_stride, v.count};
}

template <class T, Offset O>
auto compute_view(const CsrView<T, O>& m) {
  using C = compute_t<T>;
  return CsrView<C, O>{m.rows, m.cols, m.nnz, m.row_offsets, m.columns, compute_cast(m.values), m.base, m.space};
}

/// The way back, for what knows public scalars alone.
template <class R>
R* public_cast(R* p) {
  return p;
}
template <class R>
std::complex<R>* public_cast(Complex<R>* p) {
  return reinterpret_cast<std::complex<R>*>(p);
}
template <class R>
const std::complex<R>* public_cast(const Complex<R>* p) {
  return reinterpret_cast<const std::complex<R>*>(p);
}

}  // namespace blockjacobi::detail
