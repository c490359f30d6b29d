#pragma once

#include "backend/backend_impl.hpp"
#include "backend/block_ops.hpp"
#include "core/shared/compute_type.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_partition.hpp>

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

/// The values of that matrix, in backend memory.
template <Scalar T>
class L1Values {
 public:
  /// Without l1: nothing.
  explicit L1Values(const Backend& backend)
      : row_offsets_(backend, 0), columns_(backend, 0), begin_(backend, 0), end_(backend, 0), values_(backend, 0) {}

  L1Values(const Backend& backend, const L1Pattern& pattern, const BlockPartition& partition)
      : row_offsets_(backend, original_offsets(pattern)),
        columns_(backend, original_columns(pattern)),
        begin_(backend, block_borders(partition, 0)),
        end_(backend, block_borders(partition, 1)),
        values_(backend, pattern.columns.size()) {}

  /// Enqueued.
  const T* extend(const T* values) {
    const auto rows = static_cast<index_t>(begin_.size());
    block_ops<T>(values_.backend())
        .append_l1_entries(compute_cast(values),
                           {row_offsets_.data(), columns_.data(), begin_.data(), end_.data(), rows},
                           compute_cast(values_.data()));
    return values_.data();
  }

  /// What the last extend() returned.
  const T* extended() const { return values_.data(); }

  /// By row, the column of the first entry outside of its block that was NaN or Inf in the last extend(); -1 if there
  /// is none. Waits.
  std::vector<index_t> non_finite_outside() const {
    const std::vector<offset_t> offsets = row_offsets_.to_host();
    const std::vector<index_t> columns = columns_.to_host(), begin = begin_.to_host(), end = end_.to_host();
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

  std::size_t bytes() const {
    return row_offsets_.bytes() + columns_.bytes() + begin_.bytes() + end_.bytes() + values_.bytes();
  }
  static std::size_t required_bytes(index_t rows, offset_t nnz) {
    const auto n = static_cast<std::size_t>(rows), entries = static_cast<std::size_t>(nnz);
    return (n + 1) * sizeof(offset_t) + entries * sizeof(index_t) + 2 * n * sizeof(index_t) + (entries + n) * sizeof(T);
  }

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
  /// First row (side 0) or end (side 1) of the block of each row.
  static std::vector<index_t> block_borders(const BlockPartition& partition, index_t side) {
    std::vector<index_t> border(static_cast<std::size_t>(partition.rows()));
    for (index_t b = 0; b < partition.blocks(); ++b)
      std::fill_n(border.begin() + partition.first_row(b), partition.block_size(b), partition.first_row(b + side));
    return border;
  }

  Array<offset_t> row_offsets_;
  Array<index_t> columns_, begin_, end_;
  Array<T> values_;
};

}  // namespace blockjacobi::detail
