#pragma once

/// Eigen (3.4 or newer): views of its sparse matrices, and BlockJacobi as a preconditioner of its iterative solvers. To
/// be used with Eigen on the include path, for example through the CMake component `eigen`.

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <optional>
#include <string>
#include <vector>

namespace blockjacobi {

/// The arrays of a compressed row-major Eigen::SparseMatrix, Map or Ref, without a copy. Throws InvalidArgument if the
/// matrix is not compressed (makeCompressed() helps).
template <class Matrix>
requires(bool(Matrix::IsRowMajor)) CsrView<typename Matrix::Scalar, typename Matrix::StorageIndex> csr_view(
    const Matrix& matrix) {
  if (!matrix.isCompressed())
    throw InvalidArgument("csr_view: the Eigen matrix of " + std::to_string(matrix.rows()) + " rows is not compressed");
  return {static_cast<index_t>(matrix.rows()),
          static_cast<index_t>(matrix.cols()),
          static_cast<offset_t>(matrix.nonZeros()),
          matrix.outerIndexPtr(),
          matrix.innerIndexPtr(),
          matrix.valuePtr(),
          IndexBase::zero,
          MemorySpace::host};
}

/// The same of a column-major matrix A that the caller knows to be symmetric, A = A^T: its columns are its rows. For
/// other matrices the view is of A^T.
template <class Matrix>
requires(!bool(Matrix::IsRowMajor)) CsrView<typename Matrix::Scalar, typename Matrix::StorageIndex> symmetric_csr_view(
    const Matrix& matrix) {
  if (!matrix.isCompressed())
    throw InvalidArgument("symmetric_csr_view: the Eigen matrix of " + std::to_string(matrix.cols()) +
                          " columns is not compressed");
  return {static_cast<index_t>(matrix.cols()),
          static_cast<index_t>(matrix.rows()),
          static_cast<offset_t>(matrix.nonZeros()),
          matrix.outerIndexPtr(),
          matrix.innerIndexPtr(),
          matrix.valuePtr(),
          IndexBase::zero,
          MemorySpace::host};
}

/// BlockJacobi behind Eigen's interface of preconditioners:
///
///   Eigen::ConjugateGradient<Eigen::SparseMatrix<double>, Eigen::Lower | Eigen::Upper, EigenBlockJacobi<double>> cg;
///   cg.preconditioner().setMaxBlockSize(16);
///   cg.compute(A);
///   x = cg.solve(b);
///
/// Blocks are detected from the pattern unless setPartition() gives them. Row-major compressed matrices with int
/// indices are read in place; others are copied to that form first, so the solver must be given the whole matrix, not
/// one triangle. Misuse throws InvalidArgument; a block that the policy does not accept gives info() ==
/// Eigen::NumericalIssue, as Eigen's solvers expect. The host backend is the default; a CUDA backend copies the vectors
/// to the device and back in every solve(), which waits.
///
/// Thread safety: solve() may be called from several threads on a host backend.
template <Scalar T>
class EigenBlockJacobi {
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
  using RowMajor = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;

 public:
  using StorageIndex = typename Vector::StorageIndex;
  enum { ColsAtCompileTime = Eigen::Dynamic, MaxColsAtCompileTime = Eigen::Dynamic };

  EigenBlockJacobi() = default;
  template <class Matrix>
  explicit EigenBlockJacobi(const Matrix& matrix) {
    compute(matrix);
  }

  /// Before compute() or analyzePattern().
  EigenBlockJacobi& setBackend(const Backend& backend) {
    backend_ = backend;
    return forget();
  }
  /// The largest block that is detected, 1..max_block_size; 32 by default.
  EigenBlockJacobi& setMaxBlockSize(index_t size) {
    max_size_ = size;
    return forget();
  }
  /// Blocks as given instead of detected ones.
  EigenBlockJacobi& setPartition(BlockPartition partition) {
    given_ = std::move(partition);
    return forget();
  }
  EigenBlockJacobi& setOptions(const BlockJacobiOptions& options) {
    options_ = options;
    return forget();
  }

  Eigen::Index rows() const noexcept { return partition_.rows(); }
  Eigen::Index cols() const noexcept { return partition_.rows(); }

  /// Finds the blocks; reads no values.
  template <class Matrix>
  EigenBlockJacobi& analyzePattern(const Matrix& matrix) {
    forget();
    with_rows(matrix,
              [&](const auto& view) { partition_ = given_ ? *given_ : BlockPartition::detect(view, max_size_); });
    return *this;
  }

  /// Inverts the blocks. With the pattern of the factorize() before, only the values are taken anew.
  template <class Matrix>
  EigenBlockJacobi& factorize(const Matrix& matrix) {
    info_ = Eigen::Success;
    try {
      with_rows(matrix, [&](const auto& view) { set_up(view); });
    } catch (const SingularBlock&) {
      preconditioner_.reset();
      info_ = Eigen::NumericalIssue;
    }
    return *this;
  }

  template <class Matrix>
  EigenBlockJacobi& compute(const Matrix& matrix) {
    return analyzePattern(matrix).factorize(matrix);
  }

  Eigen::ComputationInfo info() const noexcept { return info_; }

  /// The preconditioner itself, for its report and status; null before factorize() and after a failure.
  const BlockJacobi<T>* get() const noexcept { return preconditioner_ ? &*preconditioner_ : nullptr; }

  /// M^-1 b, column by column.
  template <class Rhs>
  Eigen::Solve<EigenBlockJacobi, Rhs> solve(const Eigen::MatrixBase<Rhs>& b) const {
    eigen_assert(preconditioner_ && "EigenBlockJacobi: factorize() did not succeed or was not called");
    eigen_assert(rows() == b.rows() && "EigenBlockJacobi::solve: b has another number of rows than the matrix");
    return Eigen::Solve<EigenBlockJacobi, Rhs>(*this, b.derived());
  }

  /// What Eigen::Solve calls.
  template <class Rhs, class Dest>
  void _solve_impl(const Rhs& b, Dest& x) const {
    Vector z(b.rows());
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      const Eigen::Ref<const Vector> r = b.col(j);
      apply(r.data(), z.data());
      x.col(j) = z;
    }
  }

 private:
  EigenBlockJacobi& forget() {
    preconditioner_.reset();
    row_offsets_.clear();
    columns_.clear();
    return *this;
  }

  /// Calls f with a view of the rows of the matrix.
  template <class Matrix, class F>
  static void with_rows(const Matrix& matrix, F f) {
    static_assert(std::is_same_v<typename Matrix::Scalar, T>, "the matrix has another scalar than the preconditioner");
    if constexpr (bool(Matrix::IsRowMajor) && std::is_same_v<typename Matrix::StorageIndex, int>) {
      if (matrix.isCompressed()) return f(csr_view(matrix));
    }
    RowMajor copy = matrix;
    copy.makeCompressed();
    f(csr_view(copy));
  }

  void set_up(const CsrView<T, int>& view) {
    if (preconditioner_ && has_pattern(view)) {
      refresh(view);
      return;
    }
    preconditioner_.emplace(backend_, view, partition_, options_);
    row_offsets_.assign(view.row_offsets, view.row_offsets + view.rows + 1);
    columns_.assign(view.columns, view.columns + view.nnz);
  }

  bool has_pattern(const CsrView<T, int>& view) const {
    return static_cast<std::size_t>(view.rows) + 1 == row_offsets_.size() &&
           static_cast<std::size_t>(view.nnz) == columns_.size() &&
           std::equal(row_offsets_.begin(), row_offsets_.end(), view.row_offsets) &&
           std::equal(columns_.begin(), columns_.end(), view.columns);
  }

  void refresh(const CsrView<T, int>& view) {
    if (backend_.memory_space() == MemorySpace::host) {
      preconditioner_->refresh(view.values, view.nnz, MemorySpace::host);
    } else {
      Array<T> values(backend_, static_cast<std::size_t>(view.nnz));
      values.copy_from_host(view.values);
      preconditioner_->refresh(values.data(), view.nnz, MemorySpace::device);
      backend_.synchronize();
    }
    if (options_.singular != SingularPolicy::fail) return;
    for (const int info : preconditioner_->info())
      if (info != 0) {
        info_ = Eigen::NumericalIssue;
        return;
      }
  }

  void apply(const T* r, T* z) const {
    const index_t n = partition_.rows();
    if (backend_.memory_space() == MemorySpace::host) {
      preconditioner_->apply({r, n, MemorySpace::host}, {z, n, MemorySpace::host});
      return;
    }
    Array<T> input(backend_, static_cast<std::size_t>(n)), output(backend_, static_cast<std::size_t>(n));
    input.copy_from_host(r);
    preconditioner_->apply(std::as_const(input).view(), output.view());
    const std::vector<T> result = output.to_host();
    std::copy(result.begin(), result.end(), z);
  }

  Backend backend_ = Backend::host();
  index_t max_size_ = 32;
  std::optional<BlockPartition> given_;
  BlockJacobiOptions options_;
  BlockPartition partition_;
  std::optional<BlockJacobi<T>> preconditioner_;
  std::vector<int> row_offsets_;
  std::vector<index_t> columns_;
  Eigen::ComputationInfo info_ = Eigen::Success;
};

}  // namespace blockjacobi
