#pragma once

#include "core/message.hpp"

#include <blockjacobi/backend.hpp>
#include <blockjacobi/error.hpp>
#include <blockjacobi/views.hpp>

#include <cstdint>

namespace blockjacobi::detail {

/// Preconditions that several entry points share; `where` names the function and the argument.

/// One of the enumerators, which count from 0 to `last`.
template <class Enum>
void require_enumerator(const char* where, const char* name, Enum value, Enum last) {
  if (static_cast<int>(value) < 0 || value > last)
    throw InvalidArgument(message("{}: {} is {}, no enumerator", where, name, static_cast<int>(value)));
}

template <class T>
void require_vector(const char* where, const VectorView<T>& v, index_t size) {
  if (v.size != size) throw InvalidArgument(message("{}: length is {}, must be {}", where, v.size, size));
  if (size > 0 && v.data == nullptr) throw InvalidArgument(message("{}: null pointer, length {}", where, size));
}

template <class T>
void require_space(const char* where, const VectorView<T>& v, const Backend& backend) {
  if (v.space != backend.memory_space())
    throw InvalidArgument(message("{}: lies on the {}, the backend ({}) computes on the {}", where, to_string(v.space),
                                  backend.description(), to_string(backend.memory_space())));
}

template <class T>
void require_disjoint(const char* where, const VectorView<const T>& x, const VectorView<T>& y) {
  const auto a = reinterpret_cast<std::uintptr_t>(x.data), b = reinterpret_cast<std::uintptr_t>(y.data);
  const auto bytes_x = static_cast<std::uintptr_t>(x.size) * sizeof(T);
  const auto bytes_y = static_cast<std::uintptr_t>(y.size) * sizeof(T);
  if (x.size > 0 && y.size > 0 && a < b + bytes_y && b < a + bytes_x)
    throw InvalidArgument(message("{}: input and output overlap", where));
}

/// `rows` x any number of columns, with a leading dimension that holds them.
template <class T>
void require_rectangle(const char* where, const MultiVectorView<T>& v, index_t rows) {
  if (v.rows != rows) throw InvalidArgument(detail::message("{}: has {} rows, must have {}", where, v.rows, rows));
  if (v.cols < 0) throw InvalidArgument(detail::message("{}: has {} columns", where, v.cols));
  require_enumerator(where, "layout", v.layout, Layout::row_major);
  const index_t least = v.layout == Layout::column_major ? v.rows : v.cols;
  if (v.ld < least)
    throw InvalidArgument(detail::message("{}: the leading dimension is {}, must be at least {}", where, v.ld, least));
  if (v.rows > 0 && v.cols > 0 && v.data == nullptr)
    throw InvalidArgument(detail::message("{}: null pointer, {} x {}", where, v.rows, v.cols));
}

/// The same in the backend's space.
template <class T>
void require_multivector(const char* where, const MultiVectorView<T>& v, index_t rows, const Backend& backend) {
  require_rectangle(where, v, rows);
  require_space(where, VectorView<T>(v.data, 0, v.space), backend);
}

/// Extents in memory; what lies between the columns or rows counts.
template <class T>
void require_disjoint(const char* where, const MultiVectorView<const T>& x, const MultiVectorView<T>& y) {
  const auto bytes = [](const auto& v) {
    const bool by_columns = v.layout == Layout::column_major;
    const offset_t lines = by_columns ? v.cols : v.rows, length = by_columns ? v.rows : v.cols;
    return lines == 0 || length == 0 ? 0 : static_cast<std::uintptr_t>((lines - 1) * v.ld + length) * sizeof(T);
  };
  const auto a = reinterpret_cast<std::uintptr_t>(x.data), b = reinterpret_cast<std::uintptr_t>(y.data);
  if (bytes(x) > 0 && bytes(y) > 0 && a < b + bytes(y) && b < a + bytes(x))
    throw InvalidArgument(detail::message("{}: input and output overlap", where));
}

/// What can be checked of a matrix on any space without reading it.
template <class T, Offset O>
void require_arrays(const char* where, const CsrView<T, O>& m) {
  if (m.rows < 0 || m.cols < 0 || m.nnz < 0)
    throw InvalidArgument(
        message("{}: the matrix is {} x {} with {} entries, none may be negative", where, m.rows, m.cols, m.nnz));
  if (m.row_offsets == nullptr || (m.nnz > 0 && m.columns == nullptr))
    throw InvalidArgument(message("{}: the matrix has a null pointer for its {}", where,
                                  m.row_offsets == nullptr ? "row offsets" : "columns"));
}

}  // namespace blockjacobi::detail
