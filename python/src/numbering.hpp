#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/gather.hpp>
#include <blockjacobi/renumbering.hpp>

#include <span>
#include <string>

namespace blockjacobi::python {

/// From the user's numbering of a system to that of its blocks and back in a device's memory, on its backend's stream.
/// Holds what is under way: one call at a time.
template <Scalar T>
class DeviceNumbering : public Renumbering<T> {
 public:
  /// `value_map` is that of the PermutedMatrix.
  DeviceNumbering(const Backend& backend, const Permutation& permutation, std::span<const offset_t> value_map)
      : Renumbering<T>(backend, permutation),
        to_matrix_(backend, value_map, static_cast<offset_t>(value_map.size())),
        values_(backend, value_map.size()),
        work_(backend, 2 * static_cast<std::size_t>(permutation.size())) {}

  /// z = P^T f(P r).
  template <class F>
  void around(VectorView<const T> r, VectorView<T> z, F&& f) const {
    Renumbering<T>::around(r, z, work_, f);
  }

  /// The values of the renumbered matrix.
  const T* ordered(const T* values) {
    to_matrix_.apply({values, to_matrix_.size(), values_.backend().memory_space()}, values_.view());
    return values_.data();
  }

 private:
  Gather<T> to_matrix_;
  Array<T> values_, work_;
};

/// A matrix on the host, in a device's memory.
template <Scalar T>
class CopyOnDevice {
 public:
  CopyOnDevice(const Backend& backend, const CsrView<T>& matrix)
      : rows_(matrix.rows),
        offsets_(backend, static_cast<std::size_t>(matrix.rows) + 1),
        columns_(backend, static_cast<std::size_t>(matrix.nnz)),
        values_(backend, static_cast<std::size_t>(matrix.nnz)) {
    offsets_.copy_from_host(matrix.row_offsets);
    columns_.copy_from_host(matrix.columns);
    values_.copy_from_host(matrix.values);
  }

  CsrView<T> view() const {
    return {rows_,
            rows_,
            static_cast<offset_t>(columns_.size()),
            offsets_.data(),
            columns_.data(),
            values_.data(),
            IndexBase::zero,
            MemorySpace::device};
  }

 private:
  index_t rows_;
  Array<offset_t> offsets_;
  Array<index_t> columns_;
  Array<T> values_;
};

/// Column c. Throws InvalidArgument, naming the array as `what`, for columns that are not contiguous.
template <class T>
VectorView<T> column_of(const MultiVectorView<T>& columns, index_t c, const char* what) {
  if (columns.layout == Layout::row_major && columns.cols > 1)
    throw InvalidArgument(std::string(what) +
                          " has contiguous rows; where blocks have a numbering of their own it must have contiguous "
                          "columns on a device (order=\"F\")");
  return {columns.data + c * columns.ld, columns.rows, columns.space};
}

}  // namespace blockjacobi::python
