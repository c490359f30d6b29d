#pragma once

#include <blockjacobi/export.hpp>
#include <blockjacobi/moved.hpp>
#include <blockjacobi/views.hpp>

#include <span>
#include <vector>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class SparseMatrixImpl;
}  // namespace detail

/// One entry a(row, col) = value, 0-based.
template <Scalar T>
struct Triplet {
  index_t row;
  index_t col;
  T value;
};

/// Host matrix in compressed rows: base 0, columns strictly increasing within a row, no duplicates. Stored zeros are
/// kept, since they belong to the pattern. Safe to read from several threads. One that was moved from is 0 x 0.
template <Scalar T>
class BLOCKJACOBI_EXPORT CsrMatrix {
 public:
  CsrMatrix() = default;

  /// Takes the arrays of a matrix in CSR with base 0, sorts its rows and sums duplicates in the order in which they
  /// stand. Throws InvalidArgument naming the row for offsets that do not fit or a column out of range.
  CsrMatrix(index_t rows, index_t cols, std::vector<offset_t> row_offsets, std::vector<index_t> columns,
            std::vector<T> values);

  /// Sums duplicates in the order in which they stand. Throws InvalidArgument naming the entry that is out of range.
  [[nodiscard]] static CsrMatrix from_triplets(index_t rows, index_t cols, std::span<const Triplet<T>> triplets);

  /// Copies a host view of any base and order. Throws InvalidArgument as validate().
  template <Offset O>
  [[nodiscard]] static CsrMatrix from_view(const CsrView<T, O>& view);

  CsrMatrix(const CsrMatrix&) = default;
  CsrMatrix(CsrMatrix&&) noexcept = default;
  /// All of it or, where there is no memory, nothing.
  CsrMatrix& operator=(const CsrMatrix& other) { return *this = CsrMatrix(other); }
  CsrMatrix& operator=(CsrMatrix&&) noexcept = default;
  ~CsrMatrix() = default;

  index_t rows() const noexcept { return rows_; }
  index_t cols() const noexcept { return cols_; }
  offset_t nnz() const noexcept { return static_cast<offset_t>(columns_.size()); }
  std::span<const offset_t> row_offsets() const noexcept { return row_offsets_.view(); }
  std::span<const index_t> columns() const noexcept { return columns_; }
  std::span<const T> values() const noexcept { return values_; }
  /// Changes values, never the pattern.
  std::span<T> values() noexcept { return values_; }

  CsrView<T> view() const noexcept {
    return {rows_,           cols_,          nnz(),           row_offsets().data(),
            columns_.data(), values_.data(), IndexBase::zero, MemorySpace::host};
  }

 private:
  /// Takes over arrays, and fills a matrix with what is canonical already.
  friend class detail::SparseMatrixImpl<T>;
  detail::ZeroOnceMoved<index_t> rows_;
  detail::ZeroOnceMoved<index_t> cols_;
  detail::Offsets<offset_t> row_offsets_;
  std::vector<index_t> columns_;
  std::vector<T> values_;
};

/// Checks a host view: sizes not negative, offsets start at base, never decrease and end at nnz + base, columns in
/// range. O(rows + nnz). Throws InvalidArgument naming the row and the value.
template <Scalar T, Offset O>
BLOCKJACOBI_EXPORT void validate(const CsrView<T, O>& view);

}  // namespace blockjacobi
