#pragma once

#include "backend/operator_impl.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/permutation.hpp>
#include <blockjacobi/sparse_matrix.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace blockjacobi::detail {

/// State of a SparseMatrix: its arrays, and what was found out of them.
template <Scalar T>
class SparseMatrixImpl {
 public:
  SparseMatrixImpl(const Backend& backend, const SparseMatrixOptions& options);

  /// One of these five gives it its arrays. `matrix` is canonical, and lies in the backend's memory.
  template <Offset O>
  void refer_to(const CsrView<T, O>& matrix, std::shared_ptr<const void> owner);
  /// Canonical, there or on the host.
  template <Offset O>
  void copy(const CsrView<T, O>& matrix);
  /// Valid, there or on the host.
  template <Offset O>
  void copy_sorted(const CsrView<T, O>& matrix);
  /// On a host backend.
  void take_over(CsrMatrix<T>&& matrix);
  /// P A P^T of another one; values are those of A, in the order of its entries.
  void renumber(const SparseMatrixImpl& given, const Permutation& permutation);

  void update_values(const T* values, offset_t count, MemorySpace space);

  CsrMatrix<T> to_host() const;

  /// Made when it is first asked for; waits then.
  const OperatorImpl<T>& product();
  /// Of the pattern, as host_fingerprint(). The same.
  std::uint64_t fingerprint();
  void set_fingerprint(std::uint64_t fingerprint) { fingerprint_ = fingerprint; }
  /// See SparseMatrix.
  Symmetry symmetry();
  /// Whether A = A^H was stated, so that one triangle may stand for both; not of a matrix that was computed, whose
  /// triangles differ by rounding.
  bool is_stated_hermitian() const {
    return stated.symmetry == (is_complex<T> ? Symmetry::hermitian : Symmetry::symmetric) && rounding_scales == nullptr;
  }
  /// That of the values there are now, whatever was stated. Waits.
  Symmetry symmetry_within(double tolerance) const;

  Backend backend;
  SparseMatrixOptions stated;
  AnyCsrView<T> view;
  /// Of a matrix that was computed, in backend memory, see core/shared/rounding_scales.hpp; else null.
  const real_t<T>* rounding_scales = nullptr;
  offset_t given_nnz = 0;
  bool is_adopted = false;
  std::size_t bytes = 0;

 private:
  /// Where the values come from of arrays that were not canonical; see BsrSources.
  struct Sources {
    Array<offset_t> first, next;
  };

  /// Holds an array as long as this object.
  template <class Owner>
  auto* keep(Owner array);
  /// The offsets, which lie on the host, in the backend's memory and of the width that holds them; with what is kept
  /// already.
  template <Offset O>
  void set_view(const CsrView<T, O>& matrix, const O* offsets, const index_t* columns);
  void fill(const T* given);

  T* own_values_ = nullptr;  ///< null if they are adopted
  std::optional<Sources> sources_;
  std::vector<std::shared_ptr<const void>> arrays_;  ///< what the view refers to
  std::mutex mutex_;                                 ///< for what is found out late
  std::unique_ptr<OperatorImpl<T>> product_;
  std::optional<std::uint64_t> fingerprint_;
  std::optional<Symmetry> symmetry_;
};

}  // namespace blockjacobi::detail
