#pragma once

#include <blockjacobi/array.hpp>
#include <blockjacobi/bsr_matrix.hpp>
#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/sparse_matrix.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace blockjacobi {

/// User's product y = A x (or preconditioner z = M^-1 r) on views in the backend's space. On CUDA it must enqueue its
/// work on the backend's stream.
template <Scalar T>
using VectorFunction = std::function<void(VectorView<const T> x, VectorView<T> y)>;

/// Whether a user's function may run while its stream is being captured in a CUDA graph: it then must not
/// synchronize or allocate, and enqueues the same work each time.
enum class Capture { no, yes };

/// The square matrix of a linear system, as a product with vectors. Copies share the same operator, and so do
/// objects that were moved from. Thread safety: on a
/// host backend several threads may call apply() at once and solve with it, provided that a user's function allows
/// that; on CUDA one at a time. What changes the matrix (its values, SparseMatrix::update_values, BsrMatrix::refresh)
/// excludes every other use.
template <Scalar T>
class BLOCKJACOBI_EXPORT LinearOperator {
 public:
  /// CSR product with the arrays of the matrix, which the operator keeps: an update_values() is seen. All operators of
  /// a matrix share what the first one prepares. Waits then. Throws InvalidArgument for a matrix that is not square.
  LinearOperator(const SparseMatrix<T>& matrix);

  /// CSR product. A view in the backend's space is used in place, must outlive the operator, and later changes of its
  /// values are seen; a host view with a CUDA backend is copied to the device, as by SparseMatrix. Rows may be unsorted
  /// and hold duplicates. Throws InvalidArgument for a matrix that is not square or, on the host, fails validate().
  template <Offset O>
  LinearOperator(const Backend& backend, const CsrView<T, O>& matrix);

  /// That of SparseMatrix::adopt(backend, matrix): on the host the matrix must outlive the operator.
  LinearOperator(const Backend& backend, const CsrMatrix<T>& matrix)
      : LinearOperator(SparseMatrix<T>::adopt(backend, matrix)) {}
  /// A temporary would be gone before the first product.
  LinearOperator(const Backend& backend, CsrMatrix<T>&& matrix) = delete;

  /// Product with a matrix in block rows, whose storage the operator shares: a refresh() is seen.
  LinearOperator(const BsrMatrix<T>& matrix);

  /// y = A x by the user's function. Throws InvalidArgument for rows < 0 or an empty function.
  LinearOperator(const Backend& backend, index_t rows, VectorFunction<T> product, Capture capture = Capture::no);

  /// A move copies: there is no operator without a product.
  LinearOperator(const LinearOperator&) = default;
  /// The old operator goes before its backend does.
  LinearOperator& operator=(LinearOperator other) noexcept {
    impl_.swap(other.impl_);
    std::swap(backend_, other.backend_);
    return *this;
  }
  ~LinearOperator() = default;

  const Backend& backend() const noexcept { return backend_; }
  index_t rows() const noexcept;

  /// y = A x. Enqueued. Throws InvalidArgument for lengths or spaces that do not fit or overlapping x and y.
  void apply(VectorView<const T> x, VectorView<T> y) const;

  const detail::OperatorImpl<T>& impl() const noexcept { return *impl_; }

 private:
  Backend backend_;
  std::shared_ptr<const detail::OperatorImpl<T>> impl_;
};

}  // namespace blockjacobi
