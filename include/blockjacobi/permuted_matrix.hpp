#pragma once

#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/permutation.hpp>

#include <span>
#include <vector>

namespace blockjacobi {

/// B = P A P^T on the host, B(k, l) = A(order[k], order[l]): the matrix of a system whose unknowns were renumbered.
/// A x = b is B y = P b with y = P x. Safe to read from several threads; update() excludes every other use. One that
/// was moved from is 0 x 0.
template <Scalar T>
class BLOCKJACOBI_EXPORT PermutedMatrix {
 public:
  /// O(nnz log(longest row)). The view is not referenced afterwards. Throws InvalidArgument for a matrix that is not
  /// square, not on the host, fails validate(), has no values, or does not have the permutation's size.
  template <Offset O>
  PermutedMatrix(const CsrView<T, O>& matrix, const Permutation& permutation);
  PermutedMatrix(const CsrMatrix<T>& matrix, const Permutation& permutation)
      : PermutedMatrix(matrix.view(), permutation) {}

  PermutedMatrix(const PermutedMatrix&) = default;
  PermutedMatrix(PermutedMatrix&&) noexcept = default;
  /// All of it or, where there is no memory, nothing.
  PermutedMatrix& operator=(const PermutedMatrix& other) { return *this = PermutedMatrix(other); }
  PermutedMatrix& operator=(PermutedMatrix&&) noexcept = default;
  ~PermutedMatrix() = default;

  /// New values of A in the same pattern, permuted without a new analysis: values[k] belongs to the k-th stored entry
  /// of the matrix given at construction. O(nnz), allocates nothing; what refers to view() sees them. Throws
  /// InvalidArgument unless there are nnz() of them.
  void update(std::span<const T> values);

  index_t rows() const noexcept { return rows_; }
  offset_t nnz() const noexcept { return static_cast<offset_t>(columns_.size()); }
  /// Base 0, columns ascending in a row, duplicates side by side. Valid as long as this object.
  CsrView<T> view() const noexcept {
    return {rows_,           rows_,          nnz(),           row_offsets_.view().data(),
            columns_.data(), values_.data(), IndexBase::zero, MemorySpace::host};
  }
  /// view().values[k] is values[value_map()[k]] of A.
  std::span<const offset_t> value_map() const noexcept { return value_map_; }

 private:
  detail::ZeroOnceMoved<index_t> rows_;
  detail::Offsets<offset_t> row_offsets_;
  std::vector<index_t> columns_;
  std::vector<T> values_;
  std::vector<offset_t> value_map_;
};

}  // namespace blockjacobi
