#pragma once

#include "capi/numbering.hpp"

#include <cstddef>
#include <vector>

namespace blockjacobi::capi {

/// Columns that Numbering can renumber one after the other.
template <class T, Scalar S>
void require_columns(const char* name, const MultiVectorView<T>& v, const Numbering<S>& numbering) {
  const index_t rows = numbering.permutation().size();
  if (v.rows != rows) throw InvalidArgument(message("{}: has {} rows, must have {}", name, v.rows, rows));
  if (v.cols < 0) throw InvalidArgument(message("{}: has {} columns", name, v.cols));
  const index_t least = v.layout == Layout::column_major ? v.rows : v.cols;
  if (v.ld < least)
    throw InvalidArgument(message("{}: the leading dimension is {}, must be at least {}", name, v.ld, least));
  require_vector(name, VectorView<T>{v.data, rows, v.space}, v.cols > 0 ? rows : 0, numbering.backend());
  if (v.layout == Layout::row_major && v.space == MemorySpace::device)
    throw InvalidArgument(
        message("{}: columns of a renumbered system must be column-major where they lie on the device", name));
}

/// Columns in the numbering of the blocks, column-major in the backend's memory.
template <Scalar T>
class NumberedColumns {
 public:
  NumberedColumns(MultiVectorView<const T> user, Numbering<T>& numbering)
      : numbering_(numbering),
        rows_(user.rows),
        cols_(user.cols),
        data_(numbering.backend(), static_cast<std::size_t>(rows_) * static_cast<std::size_t>(cols_)) {
    if (rows_ == 0) return;
    std::vector<T> contiguous;
    for (index_t c = 0; c < cols_; ++c) {
      VectorView<const T> from{user.data + c * user.ld, rows_, user.space};
      if (user.layout == Layout::row_major) {
        contiguous.resize(static_cast<std::size_t>(rows_));
        for (index_t i = 0; i < rows_; ++i) contiguous[static_cast<std::size_t>(i)] = user.data[i * user.ld + c];
        from = contiguous;
      }
      numbering_.to_blocks(from, column(c));
    }
  }

  MultiVectorView<T> view() const {
    return {data_.data(), rows_, cols_, rows_, Layout::column_major, numbering_.backend().memory_space()};
  }

  /// Back into the user's numbering.
  void copy_to(MultiVectorView<T> user) const {
    if (rows_ == 0) return;
    std::vector<T> contiguous(static_cast<std::size_t>(rows_));
    for (index_t c = 0; c < cols_; ++c) {
      if (user.layout == Layout::column_major) {
        numbering_.to_user(column(c), {user.data + c * user.ld, rows_, user.space});
      } else {
        numbering_.to_user(column(c), contiguous);
        for (index_t i = 0; i < rows_; ++i) user.data[i * user.ld + c] = contiguous[static_cast<std::size_t>(i)];
      }
    }
  }

 private:
  VectorView<T> column(index_t c) const {
    return {data_.data() + static_cast<offset_t>(c) * rows_, rows_, numbering_.backend().memory_space()};
  }

  Numbering<T>& numbering_;
  index_t rows_, cols_;
  Array<T> data_;
};

}  // namespace blockjacobi::capi
