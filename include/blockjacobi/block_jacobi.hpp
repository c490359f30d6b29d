#pragma once

#include <blockjacobi/block_batch.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class BlockJacobiImpl;
template <Scalar T>
class PreconditionerImpl;
}  // namespace detail

/// What takes the place of the inverse of a block that is singular or holds NaN or Inf.
enum class SingularPolicy {
  fail,          ///< construction throws SingularBlock; after a refresh the next solve ends with singular_block
  identity,      ///< I
  scalar_jacobi  ///< diag(1 / a_ii), with 1 where a_ii is zero, missing or not finite or 1 / a_ii overflows
};

struct BlockJacobiOptions {
  SingularPolicy singular = SingularPolicy::fail;
};

/// A block that could not be inverted.
struct BlockDefect {
  index_t block = 0;
  index_t first_row = 0;
  index_t size = 0;
  int info = 0;        ///< see BlockJacobi::info()
  double rcond = 0.0;  ///< see BlockJacobi::rcond()
};

/// What set-up found, as values on the host.
struct BlockJacobiReport {
  index_t rows = 0;
  index_t blocks = 0;
  ScalarType scalar = ScalarType::d;
  SingularPolicy policy = SingularPolicy::fail;
  std::vector<std::pair<index_t, index_t>> sizes;  ///< (order, how many blocks), ascending
  std::size_t bytes = 0;                           ///< as BlockJacobi::bytes()
  double captured = 0.0;             ///< stored entries inside the blocks / stored entries; 1 for an empty matrix
  index_t singular_blocks = 0;       ///< info > 0
  index_t non_finite_blocks = 0;     ///< info < 0
  double min_rcond = 1.0;            ///< over the blocks that were inverted; 1 if there is none
  index_t min_rcond_block = -1;      ///< block number, -1 if no block was inverted
  std::vector<BlockDefect> defects;  ///< every block with info != 0, by block number
};

/// One sentence: block, row range, and what is wrong with it, with the value.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string describe(const BlockDefect& defect);

/// A few lines of text; lists the first ten defects and says how many more there are.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const BlockJacobiReport& report);

[[nodiscard]] BLOCKJACOBI_EXPORT const char* to_string(SingularPolicy policy) noexcept;

/// Block-Jacobi preconditioner M = diag(A_11, ..., A_kk): keeps the explicit inverse of every diagonal block of a
/// square sparse matrix and applies z = M^-1 r as a batched matrix-vector product.
///
/// Construction analyses the pattern once (on the host) and then runs the numeric set-up: extract (missing entries are
/// zeros, duplicates are summed), equilibrate rows and columns by powers of two, invert by Gauss-Jordan elimination
/// with partial pivoting, undo the scaling, store. (CUDA may choose among pivots that are nearly equal, and leave the
/// columns as they are where that changes only the units of the inverse.) A block is singular if a pivot is exactly
/// zero or the reciprocal condition number of the equilibrated block, 1 / (||B|| ||B^-1||) in the infinity norm, is
/// below 10 N eps, or its inverse overflows. Such a block, and one that holds NaN or Inf, never passes silently: see
/// SingularPolicy, info(), report().
///
/// Everything is bitwise reproducible on the same device. refresh() and apply() allocate nothing, synchronize nothing
/// and can be captured in a CUDA graph. Thread safety: apply() and the queries may be called from several threads on a
/// host backend; refresh() excludes every other call.
template <Scalar T>
class BLOCKJACOBI_EXPORT BlockJacobi {
 public:
  /// The view may lie on the host or on the backend's device and is not referenced afterwards. Waits for the set-up.
  /// Throws InvalidArgument for a matrix that is not square, fails validate() or does not have the partition's rows,
  /// and SingularBlock under SingularPolicy::fail.
  template <Offset O>
  BlockJacobi(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
              const BlockJacobiOptions& options = {});

  BlockJacobi(const Backend& backend, const CsrMatrix<T>& matrix, const BlockPartition& partition,
              const BlockJacobiOptions& options = {})
      : BlockJacobi(backend, matrix.view(), partition, options) {}

  /// Pattern analysis and allocation alone; `pattern.values` is not read and may be null. The object waits for its
  /// first refresh(): until then all that needs the inverses (apply, queries, solves) throws InvalidArgument. Throws
  /// otherwise as the constructor, but never SingularBlock.
  template <Offset O>
  [[nodiscard]] static BlockJacobi analyze(const Backend& backend, const CsrView<T, O>& pattern,
                                           const BlockPartition& partition, const BlockJacobiOptions& options = {});

  BlockJacobi(BlockJacobi&&) noexcept;
  BlockJacobi& operator=(BlockJacobi&&) noexcept;
  ~BlockJacobi();

  /// Numeric set-up for new values of the same pattern: values[k] belongs to the k-th stored entry of the matrix given
  /// at construction. The values lie in the backend's space and number nnz. Enqueued, without waiting.
  /// Throws InvalidArgument for the wrong length or space. Does not throw for singular blocks: under
  /// SingularPolicy::fail they are replaced by I, and the next solve ends with singular_block.
  void refresh(const T* values, offset_t nnz, MemorySpace space);

  /// z = op(M^-1) r. Enqueued. r and z are rows() long, in the backend's space, and do not overlap; InvalidArgument
  /// else.
  void apply(VectorView<const T> r, VectorView<T> z, Op op = Op::none) const;

  /// LAPACK meaning, by block number: 0 inverted; k in 1..N: pivot k is exactly zero (the first); N + 1: the
  /// reciprocal condition is below the threshold or the inverse overflows; -(1 + i + j N): the first element, in
  /// column-major order, that is NaN or Inf (or sums to it) is (i, j). Waits.
  std::vector<int> info() const;

  /// Reciprocal condition number of each equilibrated block, by block number; 0 after a zero pivot, NaN for a block
  /// with NaN or Inf. Waits.
  std::vector<real_t<T>> rcond() const;

  /// How many blocks have info() != 0. Waits, but copies one number only.
  index_t defects() const;

  /// Waits.
  BlockJacobiReport report() const;

  /// The stored inverses; unspecified before the first refresh() of an object from analyze().
  BlockBatchView<const T> inverse() const noexcept;
  /// Copies the stored inverse of one block to the host, column-major, and waits.
  std::vector<T> inverse_block(index_t block) const;

  const Backend& backend() const noexcept;
  const BlockPartition& partition() const noexcept;
  index_t rows() const noexcept;
  /// Stored entries of the matrix given at construction, the length refresh() expects.
  offset_t nnz() const noexcept;
  /// Bytes held in the backend's memory: inverses, block table, position map, info.
  std::size_t bytes() const noexcept;
  /// Bytes of the inverses alone, before anything is allocated.
  [[nodiscard]] static std::size_t storage_bytes(const BlockPartition& partition);
  /// What bytes() of an object with this pattern will be, without allocating on a backend; O(nnz) on the host. The view
  /// lies on the host, its values are not read. Throws InvalidArgument as the constructor.
  template <Offset O>
  [[nodiscard]] static std::size_t required_bytes(const CsrView<T, O>& pattern, const BlockPartition& partition);

  /// For the solvers.
  const detail::PreconditionerImpl<T>& preconditioner() const;

 private:
  explicit BlockJacobi(std::unique_ptr<detail::BlockJacobiImpl<T>> impl) noexcept;
  const detail::BlockJacobiImpl<T>& set_up(const char* function) const;
  std::unique_ptr<detail::BlockJacobiImpl<T>> impl_;
};

}  // namespace blockjacobi
