#pragma once

#include "backend/backend_impl.hpp"
#include "backend/block_ops.hpp"
#include "backend/partition_ops.hpp"
#include "core/shared/compute_type.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace blockjacobi::detail {

/// A pattern with one more entry on the diagonal at the end of each row. l1 block-Jacobi is block-Jacobi of that
/// matrix: the new entries hold what it adds to the diagonal, and entries of one element are summed.
struct L1Pattern {
  std::vector<offset_t> row_offsets;
  std::vector<index_t> columns;

  template <Offset O>
  explicit L1Pattern(const CsrView<const void, O>& pattern) {
    const auto base = static_cast<index_t>(pattern.base);
    row_offsets.reserve(static_cast<std::size_t>(pattern.rows) + 1);
    columns.reserve(static_cast<std::size_t>(pattern.nnz + pattern.rows));
    row_offsets.push_back(0);
    for (index_t i = 0; i < pattern.rows; ++i) {
      for (offset_t k = pattern.row_offsets[i] - base; k < pattern.row_offsets[i + 1] - base; ++k)
        columns.push_back(pattern.columns[k] - base);
      columns.push_back(i);
      row_offsets.push_back(static_cast<offset_t>(columns.size()));
    }
  }

  CsrView<const void, offset_t> view() const {
    const auto rows = static_cast<index_t>(row_offsets.size() - 1);
    return {rows,           rows,    row_offsets.back(), row_offsets.data(),
            columns.data(), nullptr, IndexBase::zero,    MemorySpace::host};
  }
};

/// Of a matrix what its l1 entries are made of, in backend memory: the pattern from base 0, and the block of each row.
struct L1Rows {
  Array<offset_t> row_offsets;
  Array<index_t> columns, begin, end;

  /// Of no matrix.
  explicit L1Rows(const Backend& backend)
      : row_offsets(backend, 0), columns(backend, 0), begin(backend, 0), end(backend, 0) {}
  /// To be written.
  L1Rows(const Backend& backend, index_t rows, offset_t nnz)
      : row_offsets(backend, static_cast<std::size_t>(rows) + 1),
        columns(backend, static_cast<std::size_t>(nnz)),
        begin(backend, static_cast<std::size_t>(rows)),
        end(backend, static_cast<std::size_t>(rows)) {}
  L1Rows(const Backend& backend, const L1Pattern& pattern, std::span<const BlockSlot> slots)
      : row_offsets(backend, original_offsets(pattern)),
        columns(backend, original_columns(pattern)),
        begin(backend, block_borders(slots, row_offsets.size() - 1, false)),
        end(backend, block_borders(slots, row_offsets.size() - 1, true)) {}

  L1Arrays arrays() { return {row_offsets.data(), columns.data(), begin.data(), end.data()}; }
  L1PatternView view() const {
    return {row_offsets.data(), columns.data(), begin.data(), end.data(), static_cast<index_t>(begin.size())};
  }
  std::size_t bytes() const { return row_offsets.bytes() + columns.bytes() + begin.bytes() + end.bytes(); }

 private:
  static std::vector<offset_t> original_offsets(const L1Pattern& pattern) {
    std::vector<offset_t> offsets = pattern.row_offsets;
    for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= static_cast<offset_t>(i);
    return offsets;
  }
  static std::vector<index_t> original_columns(const L1Pattern& pattern) {
    std::vector<index_t> columns;
    columns.reserve(pattern.columns.size());
    for (std::size_t i = 0; i + 1 < pattern.row_offsets.size(); ++i)
      columns.insert(columns.end(), pattern.columns.begin() + pattern.row_offsets[i],
                     pattern.columns.begin() + pattern.row_offsets[i + 1] - 1);
    return columns;
  }
  /// The first row of the block of each row, or the row behind it.
  static std::vector<index_t> block_borders(std::span<const BlockSlot> slots, std::size_t rows, bool behind) {
    std::vector<index_t> border(rows);
    for (const BlockSlot& slot : slots)
      std::fill_n(border.begin() + slot.first_row, slot.size, slot.first_row + (behind ? slot.size : 0));
    return border;
  }
};

/// The values of that matrix, in backend memory.
template <Scalar T>
class L1Values {
 public:
  /// Without l1: nothing.
  explicit L1Values(const Backend& backend) : rows_(backend), values_(backend, 0) {}
  explicit L1Values(L1Rows rows)
      : rows_(std::move(rows)), values_(rows_.begin.backend(), rows_.columns.size() + rows_.begin.size()) {}

  /// Enqueued.
  const T* extend(const T* values) {
    block_ops<T>(values_.backend())
        .append_l1_entries(compute_cast(values), std::as_const(rows_).view(), compute_cast(values_.data()));
    return values_.data();
  }

  /// What the last extend() returned.
  const T* extended() const { return values_.data(); }

  /// By row, the column of the first entry outside of its block that was NaN or Inf in the last extend(); -1 if there
  /// is none. Waits.
  std::vector<index_t> non_finite_outside() const {
    const std::vector<offset_t> offsets = rows_.row_offsets.to_host();
    const std::vector<index_t> columns = rows_.columns.to_host(), begin = rows_.begin.to_host(),
                               end = rows_.end.to_host();
    const std::vector<T> values = values_.to_host();
    std::vector<index_t> found(begin.size(), -1);
    for (std::size_t row = 0; row < found.size(); ++row)
      for (auto k = static_cast<std::size_t>(offsets[row]); k < static_cast<std::size_t>(offsets[row + 1]); ++k) {
        if (columns[k] >= begin[row] && columns[k] < end[row]) continue;
        if (finite(*compute_cast(&values[k + row]))) continue;  // row entries were inserted before this one
        found[row] = columns[k];
        break;
      }
    return found;
  }

  std::size_t bytes() const { return rows_.bytes() + values_.bytes(); }
  static std::size_t required_bytes(index_t rows, offset_t nnz) {
    const auto n = static_cast<std::size_t>(rows), entries = static_cast<std::size_t>(nnz);
    return (n + 1) * sizeof(offset_t) + entries * sizeof(index_t) + 2 * n * sizeof(index_t) + (entries + n) * sizeof(T);
  }

 private:
  L1Rows rows_;
  Array<T> values_;
};

}  // namespace blockjacobi::detail
