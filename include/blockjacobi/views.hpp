#pragma once

#include <blockjacobi/error.hpp>
#include <blockjacobi/memory.hpp>
#include <blockjacobi/types.hpp>

#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace blockjacobi {

/// A sparse matrix in compressed rows that somebody else owns (Eigen, PETSc, cuSPARSE arrays are used in place).
///
/// Row i holds the entries row_offsets[i] - base .. row_offsets[i+1] - base - 1 of `columns` and `values`. Columns may
/// stand in any order within a row; duplicate entries are summed by every user of the view.
template <class T, Offset O = std::int64_t>
struct CsrView {
  index_t rows = 0;
  index_t cols = 0;
  offset_t nnz = 0;                  ///< row_offsets[rows] - base
  const O* row_offsets = nullptr;    ///< rows + 1, non-decreasing, row_offsets[0] = base
  const index_t* columns = nullptr;  ///< nnz, in [base, cols + base)
  const T* values = nullptr;         ///< nnz; may be null where only the pattern is read
  IndexBase base = IndexBase::zero;
  MemorySpace space = MemorySpace::host;
};

/// `size` contiguous elements. VectorView<T> converts to VectorView<const T>.
template <class T>
struct VectorView {
  T* data = nullptr;
  index_t size = 0;
  MemorySpace space = MemorySpace::host;

  constexpr VectorView() = default;
  constexpr VectorView(T* data_, index_t size_, MemorySpace space_) : data(data_), size(size_), space(space_) {}

  /// Host vectors. InvalidArgument for more elements than index_t counts.
  VectorView(std::vector<std::remove_const_t<T>>& v) : data(v.data()), size(checked_size(v.size())) {}
  VectorView(const std::vector<std::remove_const_t<T>>& v) requires std::is_const_v<T> : data(v.data()),
                                                                                         size(checked_size(v.size())) {}

  template <class U>
  requires(!std::is_const_v<T> && std::is_same_v<U, const T>) constexpr operator VectorView<U>() const {
    return {data, size, space};
  }

 private:
  static index_t checked_size(std::size_t size) {
    if (size > static_cast<std::size_t>(std::numeric_limits<index_t>::max()))
      throw InvalidArgument("VectorView: " + std::to_string(size) + " elements exceed a 32-bit vector view");
    return static_cast<index_t>(size);
  }
};

/// Column-major (ld >= rows) or row-major (ld >= cols) rectangle.
enum class Layout { column_major, row_major };

template <class T>
struct MultiVectorView {
  T* data = nullptr;
  index_t rows = 0;
  index_t cols = 0;
  offset_t ld = 0;
  Layout layout = Layout::column_major;
  MemorySpace space = MemorySpace::host;

  template <class U>
  requires(!std::is_const_v<T> && std::is_same_v<U, const T>) constexpr operator MultiVectorView<U>() const {
    return {data, rows, cols, ld, layout, space};
  }
};

/// Block b covers the rows offsets[b] .. offsets[b+1] - 1.
struct PartitionView {
  const index_t* offsets = nullptr;  ///< blocks + 1
  index_t blocks = 0;
  index_t rows = 0;
  MemorySpace space = MemorySpace::host;
};

/// All blocks of one order. Groups are sorted by order; within a group blocks keep their numbering.
struct BlockGroup {
  index_t size = 0;        ///< order N of its blocks
  index_t count = 0;       ///< how many
  index_t first_slot = 0;  ///< its first slot
  index_t first_row = -1;  ///< of its first block if its blocks follow each other in the matrix without gaps, else -1
  offset_t start = 0;      ///< first element in storage, a multiple of 128 bytes
};

/// Place of one block in the storage.
struct BlockSlot {
  offset_t start = 0;     ///< first element: group.start + (slot - group.first_slot) * N^2
  index_t first_row = 0;  ///< of the matrix
  index_t size = 0;       ///< order N
  index_t block = 0;      ///< number in the partition
  index_t reserved = 0;
};

/// A batch of dense blocks of mixed order: column-major N x N each, back to back within its group.
template <class T>
struct BlockBatchView {
  T* data = nullptr;                   ///< in `space`
  const BlockSlot* slots = nullptr;    ///< `blocks` of them, in `space`, sorted by order
  std::span<const BlockGroup> groups;  ///< always on the host
  index_t blocks = 0;
  index_t rows = 0;
  MemorySpace space = MemorySpace::host;

  template <class U>
  requires(!std::is_const_v<T> && std::is_same_v<U, const T>) constexpr operator BlockBatchView<U>() const {
    return {data, slots, groups, blocks, rows, space};
  }
};

}  // namespace blockjacobi
