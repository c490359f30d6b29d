#pragma once

#include <blockjacobi/backend.hpp>
#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/views.hpp>

#include <span>
#include <vector>

namespace blockjacobi {

/// Splits the rows 0 .. rows - 1 into contiguous diagonal blocks of order 1 .. max_block_size. Immutable host object;
/// safe to share between threads.
class BLOCKJACOBI_EXPORT BlockPartition {
 public:
  /// No rows.
  BlockPartition() = default;

  /// Blocks of `block_size` rows, the last one shorter if it does not divide rows.
  /// Throws InvalidArgument unless rows >= 0 and 1 <= block_size <= max_block_size.
  [[nodiscard]] static BlockPartition uniform(index_t rows, index_t block_size);

  /// Block b covers rows offsets[b] .. offsets[b+1] - 1. Throws InvalidArgument naming the block and its rows unless
  /// offsets start at 0, increase strictly and no block exceeds max_block_size.
  [[nodiscard]] static BlockPartition from_offsets(std::vector<index_t> offsets);

  /// Exact supervariables, agglomerated: a row joins the block of the row before it if both have the same set of
  /// columns and the block has fewer than `max_size` rows; then consecutive blocks are merged greedily while their
  /// rows together do not exceed max_size. Gives the block pointers of Ginkgo's Jacobi with the same
  /// maximum. Values are not read; a stored zero counts as an entry. O(nnz) for sorted rows.
  /// Throws InvalidArgument for a view that is not square, not on the host or fails validate(), and unless
  /// 1 <= max_size <= max_block_size.
  template <Scalar T, Offset O>
  [[nodiscard]] static BlockPartition detect(const CsrView<T, O>& matrix, index_t max_size = 32);
  template <Scalar T>
  [[nodiscard]] static BlockPartition detect(const CsrMatrix<T>& matrix, index_t max_size = 32) {
    return detect(matrix.view(), max_size);
  }

  /// The same for a view on the host or on the backend's device (there the pattern is trusted); waits.
  template <Scalar T, Offset O>
  [[nodiscard]] static BlockPartition detect(const Backend& backend, const CsrView<T, O>& matrix,
                                             index_t max_size = 32);

  index_t rows() const noexcept { return offsets_.back(); }
  index_t blocks() const noexcept { return static_cast<index_t>(offsets_.size() - 1); }
  /// blocks() + 1.
  std::span<const index_t> offsets() const noexcept { return offsets_; }
  index_t first_row(index_t block) const { return offsets_[static_cast<std::size_t>(block)]; }
  index_t block_size(index_t block) const { return first_row(block + 1) - first_row(block); }
  /// 0 if there is no block.
  index_t largest_block() const noexcept;
  PartitionView view() const noexcept { return {offsets_.data(), blocks(), rows(), MemorySpace::host}; }

  friend bool operator==(const BlockPartition&, const BlockPartition&) = default;

 private:
  explicit BlockPartition(std::vector<index_t> offsets) : offsets_(std::move(offsets)) {}
  std::vector<index_t> offsets_{0};
};

}  // namespace blockjacobi
