#pragma once

#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/csr_matrix.hpp>

#include <cstddef>
#include <memory>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class BsrMatrixImpl;
template <Scalar T>
class OperatorImpl;
}  // namespace detail

/// A square sparse matrix in block rows: every b x b block with an entry is stored whole, column-major, zeros included.
/// For systems with b unknowns a node, whose blocks are full: one column index a block instead of one an entry. Make a
/// LinearOperator of it to use it in a solver.
///
/// Fewer bytes are not always less time. A product with the 27-point stencil on 64^3 nodes of 3 unknowns, in double,
/// takes 0.255 ms in block rows on an H200, 0.196 by the library's own CSR product, and 0.279 by cuSPARSE's
/// reproducible one, which a CSR operator falls back on where the rows differ much in length: there block rows may pay.
///
/// Products sum each row in the order of its block columns: bitwise reproducible on the same device. Copies share
/// the same matrix, and so do objects that were moved from. Thread safety: as BlockJacobi; refresh() excludes every
/// other call.
template <Scalar T>
class BLOCKJACOBI_EXPORT BsrMatrix {
 public:
  /// Largest b.
  static constexpr index_t max_block = 32;

  /// Blocks of `block` rows and columns. The view may lie on the host or on the backend's device, is not referenced
  /// afterwards, may be unsorted and hold duplicates, which are summed. Analyses the pattern on the host in O(nnz) and
  /// waits. Throws InvalidArgument for a matrix that is not square, fails validate() or has no values, and unless
  /// 1 <= block <= max_block divides its rows.
  template <Offset O>
  BsrMatrix(const Backend& backend, const CsrView<T, O>& matrix, index_t block);
  BsrMatrix(const Backend& backend, const CsrMatrix<T>& matrix, index_t block)
      : BsrMatrix(backend, matrix.view(), block) {}

  /// The same with the blocks of a partition, which all have one size. Throws InvalidArgument, naming the block, if
  /// not.
  template <Offset O>
  BsrMatrix(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition);
  BsrMatrix(const Backend& backend, const CsrMatrix<T>& matrix, const BlockPartition& partition)
      : BsrMatrix(backend, matrix.view(), partition) {}

  /// A move copies: there is no matrix without blocks.
  BsrMatrix(const BsrMatrix&) = default;
  BsrMatrix& operator=(const BsrMatrix&) = default;
  ~BsrMatrix() = default;

  /// New values of the same pattern: values[k] belongs to the k-th stored entry of the matrix given at construction.
  /// They lie in the backend's space and number nnz. Enqueued, allocates nothing, can be captured in a CUDA graph;
  /// operators made from this matrix see them. Throws InvalidArgument for the wrong length or space.
  void refresh(const T* values, offset_t nnz, MemorySpace space);

  const Backend& backend() const noexcept;
  index_t rows() const noexcept;
  index_t block() const noexcept;
  /// Stored blocks.
  offset_t blocks() const noexcept;
  /// Stored entries of the matrix given at construction, the length refresh() expects.
  offset_t nnz() const noexcept;
  /// Entries of the matrix / stored elements: 1 where all blocks are full. The bytes of a product with this matrix
  /// and with its CSR form are as 1 / fill() to 1.5 for double and 32-bit columns.
  double fill() const noexcept;
  /// Bytes held in the backend's memory, the map from entries to elements included.
  std::size_t bytes() const noexcept;

  /// For LinearOperator.
  std::shared_ptr<const detail::OperatorImpl<T>> impl() const noexcept;

 private:
  std::shared_ptr<detail::BsrMatrixImpl<T>> impl_;
};

}  // namespace blockjacobi
