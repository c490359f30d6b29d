#pragma once

#include <blockjacobi/backend.hpp>
#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/permutation.hpp>
#include <blockjacobi/views.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class SparseMatrixImpl;
}  // namespace detail

/// Whether a square matrix is its own transpose, A = A^T, or its own conjugate transpose, A = A^H. A matrix that is
/// both is called symmetric if its scalar is real and hermitian if it is complex.
enum class Symmetry { none, symmetric, hermitian };

/// What the user knows of a matrix, for all values that its pattern will get.
struct SparseMatrixOptions {
  /// Taken on trust: of a matrix stated to be its own conjugate transpose one triangle may stand for both, with NaN and
  /// Inf that it has. None: SparseMatrix::symmetry() finds it.
  std::optional<Symmetry> symmetry{};
  /// Unknowns of a node, 1 .. max_block_size: rows k b .. (k + 1) b - 1 belong together, and so do these columns. Has
  /// to divide rows and columns. BlockPartition::uniform(A) takes it.
  std::optional<index_t> block_size{};
  /// What symmetry() forgives: |a_ij - a_ji| (or |a_ij - conj(a_ji)|) <= tolerance max(|a_ij|, |a_ji|,
  /// sqrt(|a_ii a_jj|)), whatever the units of rows and columns: elements may themselves be what assembly rounds. NaN
  /// and Inf are forgiven nothing, nor do they license a difference. 0: elements have to be equal.
  double symmetry_tolerance = 0.0;
};

/// The matrix as compressed rows, with offsets of the width that it has them in.
template <Scalar T>
using AnyCsrView = std::variant<CsrView<T, std::int32_t>, CsrView<T, std::int64_t>>;

/// A sparse matrix in compressed rows in a backend's memory, canonical: columns increase strictly within each row. What
/// needs a matrix (LinearOperator, BlockPartition, BlockJacobi, suggest) takes it from here without another check, copy
/// or transfer:
///
///     const SparseMatrix<double> A(backend, read_matrix_market<double>("beam.mtx"));
///     const BlockJacobi<double> M(A, BlockPartition::detect(A));
///     const SolveReport report = cg(A, M, b.view(), x.view());
///
/// A handle: copies, and moves, which are copies, refer to the same matrix, and so do the operators that are made of
/// it; each of them keeps its arrays. Its own arrays have row offsets of 32 bits if these hold nnz(), else of 64, and
/// go when the last handle or operator does. Stored zeros are kept, since they belong to the pattern.
///
/// Arrays that are not canonical are sorted on the host, wherever they lie, and duplicates summed in the order in which
/// they stand; where each entry went is kept, so that update_values() takes values in the order of the arrays given.
///
/// Thread safety: on a host backend everything but update_values() may be called from several threads, on CUDA from one
/// at a time; update_values() excludes every other use of the matrix and of its operators.
template <Scalar T>
class BLOCKJACOBI_EXPORT SparseMatrix {
 public:
  /// A copy of a host matrix, which is not checked again; on CUDA the one upload. May wait. Throws InvalidArgument for
  /// a stated symmetry of a matrix that is not square, a block size out of range or that does not divide rows and
  /// columns, and a tolerance that is negative or NaN.
  SparseMatrix(const Backend& backend, const CsrMatrix<T>& matrix, const SparseMatrixOptions& options = {});
  /// The same, but on the host columns and values are taken over without a copy.
  SparseMatrix(const Backend& backend, CsrMatrix<T>&& matrix, const SparseMatrixOptions& options = {});

  /// A copy of arrays of any base and order on the host or on the backend's device, in O(nnz) if they are canonical.
  /// Waits. Throws InvalidArgument as above, naming row, column and position for a view that fails validate(), for a
  /// null pointer, and for a view on a device with a host backend.
  template <Offset O>
  SparseMatrix(const Backend& backend, const CsrView<T, O>& matrix, const SparseMatrixOptions& options = {});

  /// The arrays themselves, without a copy, if they lie in the backend's memory and are canonical; of any base.
  /// `owner` keeps them alive, or else they must outlive every handle and operator. Their owner may write new values,
  /// which operators see at once; their pattern must not change. Other arrays are copied, as by the constructor:
  /// is_adopted() tells. Waits, and throws as the constructor.
  template <Offset O>
  [[nodiscard]] static SparseMatrix adopt(const Backend& backend, const CsrView<T, O>& matrix,
                                          const SparseMatrixOptions& options = {},
                                          std::shared_ptr<const void> owner = nullptr);
  /// The same of a host matrix, in O(1) on the host; it must outlive every handle and operator.
  [[nodiscard]] static SparseMatrix adopt(const Backend& backend, const CsrMatrix<T>& matrix,
                                          const SparseMatrixOptions& options = {});
  /// A temporary would be gone before its first use.
  static SparseMatrix adopt(const Backend&, CsrMatrix<T>&&, const SparseMatrixOptions& = {}) = delete;

  SparseMatrix(const SparseMatrix&) = default;
  SparseMatrix& operator=(const SparseMatrix&) = default;
  ~SparseMatrix() = default;

  /// New values in the same pattern: values[k] belongs to the k-th entry of the arrays given at construction, of which
  /// there are given_nnz(). They lie on the host or in the backend's memory. Operators see them; a BlockJacobi takes
  /// them by refresh(). Allocates nothing and, for values in the backend's memory, waits for nothing and can be
  /// captured in a CUDA graph; exceptions are values from the host for a matrix on CUDA that was not canonical, which
  /// go through memory of the call. A symmetry that symmetry() found is found anew, one that was stated stays. Throws
  /// InvalidArgument for another number of values, a null pointer, values in a memory that is out of reach, and an
  /// adopted matrix unless they are its own array, which has them already.
  void update_values(const T* values, offset_t count, MemorySpace space);
  /// The same for values on the host.
  void update_values(std::span<const T> values) {
    update_values(values.data(), static_cast<offset_t>(values.size()), MemorySpace::host);
  }

  const Backend& backend() const noexcept;
  index_t rows() const noexcept;
  index_t cols() const noexcept;
  /// Stored entries.
  offset_t nnz() const noexcept;
  /// Entries of the arrays given at construction, duplicates counted one by one: what update_values() takes.
  offset_t given_nnz() const noexcept;
  /// The size that was stated.
  std::optional<index_t> block_size() const noexcept;
  /// Whether it uses somebody else's arrays.
  bool is_adopted() const noexcept;
  /// Bytes that it holds in the backend's memory, without those of adopted arrays.
  std::size_t bytes() const noexcept;

  /// As stated, or else as the values have it that are there at the first call (and at the first after an
  /// update_values()); a missing entry is a zero. Found where the matrix lies: O(nnz) on the host, a search in a row
  /// for each entry on a device; waits for the answer. A NaN is equal to nothing; a matrix that is not square has none.
  Symmetry symmetry() const;
  /// A = A^H, what conjugate gradients ask for besides definiteness.
  bool is_hermitian() const { return symmetry() == (is_complex<T> ? Symmetry::hermitian : Symmetry::symmetric); }

  /// The arrays, in the backend's memory: valid as long as a handle or operator is. Base 0, but for arrays that were
  /// canonical from base 1. Use std::visit.
  const AnyCsrView<T>& view() const noexcept;
  /// nnz() of them, in the backend's memory.
  const T* values() const noexcept;
  /// A copy on the host. Waits.
  [[nodiscard]] CsrMatrix<T> to_host() const;

  /// P A P^T, B(k, l) = A(order[k], order[l]): the matrix of the system whose unknowns `permutation` renumbers, for
  /// blocks of any rows, as those of BlockPartition::clusters(). A x = b is B y = P b with y = P x. Made in the memory
  /// of the backend, on CUDA from arrays there with fewer than 2^31 entries without the host. It has arrays of its own:
  /// B.update_values(A.values(), A.nnz(), space) brings it the values that A has then. What was stated of A holds for
  /// it; a block size if nodes stay whole and in their order, else it has none. May wait. Throws InvalidArgument for a
  /// matrix that is not square and a permutation of another size.
  [[nodiscard]] SparseMatrix renumbered(const Permutation& permutation) const;

  /// For the library.
  explicit SparseMatrix(std::shared_ptr<detail::SparseMatrixImpl<T>> impl) noexcept : impl_(std::move(impl)) {}
  const std::shared_ptr<detail::SparseMatrixImpl<T>>& impl() const noexcept { return impl_; }

 private:
  std::shared_ptr<detail::SparseMatrixImpl<T>> impl_;
};

}  // namespace blockjacobi
