#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/linear_operator.hpp>
#include <blockjacobi/permutation.hpp>

#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi::python {

/// y_k = x_from[k] in a backend's memory, as a product with a matrix, which every backend enqueues.
template <Scalar T>
class Gather {
 public:
  template <class Number>
  Gather(const Backend& backend, std::span<const Number> from) : product_(selection(backend, from)) {}

  void operator()(VectorView<const T> x, VectorView<T> y) const { product_.apply(x, y); }

 private:
  template <class Number>
  static SparseMatrix<T> selection(const Backend& backend, std::span<const Number> from) {
    if (from.size() > static_cast<std::size_t>(std::numeric_limits<index_t>::max()))
      throw InvalidArgument("the matrix has " + std::to_string(from.size()) + " entries, a renumbered one can have " +
                            std::to_string(std::numeric_limits<index_t>::max()));
    const auto size = static_cast<index_t>(from.size());
    std::vector<offset_t> offsets(from.size() + 1);
    for (std::size_t k = 0; k < offsets.size(); ++k) offsets[k] = static_cast<offset_t>(k);
    return {backend, CsrMatrix<T>(size, size, std::move(offsets), std::vector<index_t>(from.begin(), from.end()),
                                  std::vector<T>(from.size(), T(1)))};
  }

  LinearOperator<T> product_;
};

/// From the user's numbering of a system to that of its blocks and back in a device's memory, on its backend's stream.
/// Holds what is under way: one call at a time.
template <Scalar T>
class DeviceNumbering {
 public:
  /// `value_map` is that of the PermutedMatrix.
  DeviceNumbering(const Backend& backend, const Permutation& permutation, std::span<const offset_t> value_map)
      : to_blocks_(backend, permutation.order()),
        to_user_(backend, permutation.inverse().order()),
        to_matrix_(backend, value_map),
        values_(backend, value_map.size()),
        in_(backend, static_cast<std::size_t>(permutation.size())),
        out_(backend, static_cast<std::size_t>(permutation.size())) {}

  /// y = P x.
  void to_blocks(VectorView<const T> x, VectorView<T> y) const { to_blocks_(x, y); }
  /// x = P^T y.
  void to_user(VectorView<const T> y, VectorView<T> x) const { to_user_(y, x); }

  /// z = P^T f(P r).
  template <class F>
  void around(VectorView<const T> r, VectorView<T> z, F&& f) {
    to_blocks(r, in_.view());
    f(VectorView<const T>(in_.view()), out_.view());
    to_user(std::as_const(out_).view(), z);
  }

  /// The values of the renumbered matrix.
  const T* ordered(const T* values) {
    to_matrix_({values, static_cast<index_t>(values_.size()), values_.backend().memory_space()}, values_.view());
    return values_.data();
  }

 private:
  Gather<T> to_blocks_, to_user_, to_matrix_;
  Array<T> values_, in_, out_;
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
