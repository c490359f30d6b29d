#pragma once

// Eigen (3.4 or newer): views of its sparse matrices, and BlockJacobi as a preconditioner of its iterative solvers. To
// be used with Eigen on the include path, for example through the CMake component `eigen`.

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_jacobi.hpp>
#include <blockjacobi/block_partition.hpp>
#include <blockjacobi/moved.hpp>

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/SparseCore>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace blockjacobi {

namespace detail {

/// The arrays of a compressed matrix, whose rows are taken to be what Eigen stores one after another.
template <class Matrix>
CsrView<typename Matrix::Scalar, typename Matrix::StorageIndex> view_of_stored_vectors(const char* function,
                                                                                       const Matrix& matrix) {
  if (!matrix.isCompressed())
    throw InvalidArgument(std::string(function) + ": the Eigen matrix of " + std::to_string(matrix.rows()) + " x " +
                          std::to_string(matrix.cols()) + " is not compressed");
  return {static_cast<index_t>(matrix.outerSize()),
          static_cast<index_t>(matrix.innerSize()),
          static_cast<offset_t>(matrix.nonZeros()),
          matrix.outerIndexPtr(),
          matrix.innerIndexPtr(),
          matrix.valuePtr(),
          IndexBase::zero,
          MemorySpace::host};
}

}  // namespace detail

/// The arrays of a compressed row-major Eigen::SparseMatrix, Map or Ref, without a copy. Throws InvalidArgument if the
/// matrix is not compressed (makeCompressed() helps).
template <class Matrix>
requires(bool(Matrix::IsRowMajor)) CsrView<typename Matrix::Scalar, typename Matrix::StorageIndex> csr_view(
    const Matrix& matrix) {
  return detail::view_of_stored_vectors("csr_view", matrix);
}

/// The same of a column-major matrix A that the caller knows to be symmetric, A = A^T: its columns are its rows. For
/// other matrices the view is of A^T.
template <class Matrix>
requires(!bool(Matrix::IsRowMajor)) CsrView<typename Matrix::Scalar, typename Matrix::StorageIndex> symmetric_csr_view(
    const Matrix& matrix) {
  return detail::view_of_stored_vectors("symmetric_csr_view", matrix);
}

/// The elements of a dense matrix, Map, Ref or block of one without a copy, as the solvers take several right-hand
/// sides and solutions:
///
///   Eigen::MatrixXd X = Eigen::MatrixXd::Zero(B.rows(), B.cols());
///   const std::vector<SolveReport> reports = cg_columns(A, M, columns_view(B), columns_view(X));
///
/// Of const T for a const matrix. Throws InvalidArgument for elements of a column (of a row, if the matrix is
/// row-major) that do not follow each other in memory, and for more rows or columns than index_t counts.
template <class Matrix>
requires requires(Matrix& m) { m.data(), m.innerStride(), m.outerStride(); }
auto columns_view(Matrix& matrix) {
  using T = std::remove_pointer_t<decltype(matrix.data())>;
  if (matrix.innerStride() != 1)
    throw InvalidArgument("columns_view: elements of the Eigen matrix are " + std::to_string(matrix.innerStride()) +
                          " apart, must be contiguous");
  if (matrix.rows() > std::numeric_limits<index_t>::max() || matrix.cols() > std::numeric_limits<index_t>::max())
    throw InvalidArgument("columns_view: the Eigen matrix is " + std::to_string(matrix.rows()) + " x " +
                          std::to_string(matrix.cols()) + ", more than 32 bits count");
  return MultiVectorView<T>{matrix.data(),
                            static_cast<index_t>(matrix.rows()),
                            static_cast<index_t>(matrix.cols()),
                            static_cast<offset_t>(matrix.outerStride()),
                            bool(std::remove_const_t<Matrix>::IsRowMajor) ? Layout::row_major : Layout::column_major,
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
/// indices are read in place; others are copied to that form first, once a call, so the solver must be given the whole
/// matrix, not one triangle. Misuse throws InvalidArgument; a block that the policy does not accept gives info() ==
/// Eigen::NumericalIssue, as Eigen's solvers expect. The host backend is the default; with a CUDA backend every solve()
/// copies the vectors to the device, in memory that factorize() allocated, and back, and waits.
///
/// Thread safety: solve() and the queries may be called from several threads on a host backend, from one at a time on
/// CUDA; what changes the object excludes every other call. One that was moved from may be set up
/// anew, a partition included; until then solve() throws InvalidArgument.
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

  /// What is set holds from the next compute() or factorize() on, and until then there is no preconditioner.
  EigenBlockJacobi& setBackend(const Backend& backend) {
    backend_ = backend;
    return forget();
  }
  /// The largest block that is detected, 1..max_block_size; 32 by default.
  EigenBlockJacobi& setMaxBlockSize(index_t size) {
    max_size_ = size;
    analyzed_ = false;
    return forget();
  }
  /// Blocks as given instead of detected ones.
  EigenBlockJacobi& setPartition(BlockPartition partition) {
    given_ = std::move(partition);
    analyzed_ = false;
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
    with_rows(matrix, [&](const View& view) { analyze(view); });
    return *this;
  }

  /// Inverts the blocks, which it finds itself where analyzePattern() did not come first, or not after
  /// setMaxBlockSize() or setPartition(). With the pattern of the factorize() before, only the values are taken anew.
  template <class Matrix>
  EigenBlockJacobi& factorize(const Matrix& matrix) {
    with_rows(matrix, [&](const View& view) { invert(view); });
    return *this;
  }

  template <class Matrix>
  EigenBlockJacobi& compute(const Matrix& matrix) {
    with_rows(matrix, [&](const View& view) {
      analyze(view);
      invert(view);
    });
    return *this;
  }

  Eigen::ComputationInfo info() const noexcept { return info_; }

  /// The preconditioner itself, for its report and status; null before factorize() and where the first one of a pattern
  /// failed. One that failed on new values of the pattern keeps it, and its report names the blocks.
  const BlockJacobi<T>* get() const noexcept { return preconditioner_ ? &*preconditioner_ : nullptr; }

  /// M^-1 b, column by column. Throws InvalidArgument where there is no preconditioner, see get(), or b has another
  /// number of rows; after a factorize() that failed on new values of its pattern the blocks at fault are not inverses.
  template <class Rhs>
  Eigen::Solve<EigenBlockJacobi, Rhs> solve(const Eigen::MatrixBase<Rhs>& b) const {
    if (!preconditioner_)
      throw InvalidArgument("EigenBlockJacobi::solve: factorize() did not succeed, or was not called after a change");
    if (rows() != b.rows())
      throw InvalidArgument("EigenBlockJacobi::solve: b has " + std::to_string(b.rows()) + " rows, the matrix " +
                            std::to_string(rows()));
    return Eigen::Solve<EigenBlockJacobi, Rhs>(*this, b.derived());
  }

  /// What Eigen::Solve calls.
  template <class Rhs, class Dest>
  void _solve_impl(const Rhs& b, Dest& x) const {
    Vector copy;
    for (Eigen::Index j = 0; j < b.cols(); ++j) {
      const Eigen::Ref<const Vector> r = b.col(j);
      if (T* const z = column_in_place(x, j, r)) {
        apply(r.data(), z);
      } else {
        copy.resize(b.rows());
        apply(r.data(), copy.data());
        x.col(j) = copy;
      }
    }
  }

 private:
  using View = CsrView<T, int>;

  /// The vectors of solve() in the memory of a device.
  struct DeviceVectors {
    Array<T> r, z;
  };

  EigenBlockJacobi& forget() {
    preconditioner_.reset();
    vectors_.reset();
    values_.reset();
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

  /// Column j of x where its elements are contiguous and apart from r, else null.
  template <class Dest>
  static T* column_in_place(Dest& x, Eigen::Index j, const Eigen::Ref<const Vector>& r) {
    if constexpr (bool(Dest::Flags & Eigen::DirectAccessBit) && std::is_same_v<typename Dest::Scalar, T>) {
      auto column = x.col(j);
      if (column.innerStride() != 1) return nullptr;
      T* const z = column.data();
      const std::less_equal<const T*> reaches;
      return reaches(z + r.size(), r.data()) || reaches(r.data() + r.size(), z) ? z : nullptr;
    } else {
      return nullptr;
    }
  }

  void analyze(const View& view) {
    forget();
    analyzed_ = false;
    partition_ = given_ ? *given_ : BlockPartition::detect(view, max_size_);
    analyzed_ = true;
  }

  void invert(const View& view) {
    if (!analyzed_) analyze(view);
    info_ = Eigen::Success;
    try {
      set_up(view);
    } catch (const SingularBlock&) {
      forget();
      info_ = Eigen::NumericalIssue;
    }
  }

  void set_up(const View& view) {
    if (preconditioner_ && has_pattern(view)) {
      refresh(view);
      return;
    }
    forget();
    if (backend_.memory_space() == MemorySpace::device) {
      const auto n = static_cast<std::size_t>(view.rows);
      vectors_.emplace(DeviceVectors{Array<T>(backend_, n), Array<T>(backend_, n)});
    }
    preconditioner_.emplace(backend_, view, partition_, options_);
    row_offsets_.assign(view.row_offsets, view.row_offsets + view.rows + 1);
    columns_.assign(view.columns, view.columns + view.nnz);
  }

  bool has_pattern(const View& view) const {
    return static_cast<std::size_t>(view.rows) + 1 == row_offsets_.size() &&
           static_cast<std::size_t>(view.nnz) == columns_.size() &&
           std::equal(row_offsets_.begin(), row_offsets_.end(), view.row_offsets) &&
           std::equal(columns_.begin(), columns_.end(), view.columns);
  }

  void refresh(const View& view) {
    if (backend_.memory_space() == MemorySpace::host) {
      preconditioner_->refresh(view.values, view.nnz, MemorySpace::host);
    } else {
      if (!values_) values_.emplace(backend_, static_cast<std::size_t>(view.nnz));
      values_->copy_from_host(view.values);
      preconditioner_->refresh(values_->data(), view.nnz, MemorySpace::device);
    }
    if (options_.storage == Storage::packed && preconditioner_->report().unsuited_blocks > 0)
      info_ = Eigen::NumericalIssue;
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
    vectors_->r.copy_from_host(r);
    preconditioner_->apply(std::as_const(vectors_->r).view(), vectors_->z.view());
    vectors_->z.copy_to_host(z);
  }

  Backend backend_ = Backend::host();
  index_t max_size_ = 32;
  std::optional<BlockPartition> given_;
  BlockJacobiOptions options_;
  BlockPartition partition_;
  detail::ZeroOnceMoved<bool> analyzed_;  // whether partition_ is what the setters ask for
  std::optional<BlockJacobi<T>> preconditioner_;
  mutable std::optional<DeviceVectors> vectors_;  // written by solve(), which is const
  std::optional<Array<T>> values_;                // in device memory, from the first refresh on
  std::vector<int> row_offsets_;
  std::vector<index_t> columns_;
  Eigen::ComputationInfo info_ = Eigen::Success;
};

}  // namespace blockjacobi
