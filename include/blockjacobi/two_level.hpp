#pragma once

#include <blockjacobi/block_jacobi.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class TwoLevelImpl;
}  // namespace detail

/// How block-Jacobi M^-1 and the coarse correction Q = Z E^-1 Z^H, E = Z^H A Z, make one preconditioner; the names are
/// those of Tang, Nabben, Vuik, Erlangga, Comparison of two-level preconditioners derived from deflation, domain
/// decomposition and multigrid methods, 2009.
enum class CoarseMode {
  /// z = M^-1 r + Q r, for every solver: Hermitian definite where A and M are.
  additive,
  /// z = M^-1 (r - A Q r) + Q r, for gmres, fgmres and bicgstab; cg, cg_enqueue and fcg refuse it.
  adef1,
  /// y = M^-1 r, z = y + Q (r - A y), for cg, cg_enqueue, fcg and richardson: it is Hermitian for residuals with
  /// Z^H r = 0 alone, so these add Q (b - A x) to x wherever they form b - A x anew. cg, cg_columns and fcg do so where
  /// they stall because rounding grew into Z^H r; cg_enqueue, which nobody looks at, cannot. minres refuses it, the
  /// other solvers take it as it is.
  adef2
};

/// The largest order of E.
inline constexpr index_t max_coarse_size = 4096;

struct TwoLevelOptions {
  /// None: adef2 if A is Hermitian, as SparseMatrix::is_hermitian() says, else adef1. minres takes only additive.
  std::optional<CoarseMode> mode{};
  /// Columns of Z at most, 1 .. max_coarse_size. 0: the square root of the number of entries of A, so that E^-1 is no
  /// larger than A, but no more than 512 on the host and 2048 on CUDA.
  index_t size = 0;
  index_t relaxed = 0;  ///< relaxed vectors an aggregate, at most max_block_size; 0: vectors of ones
};

/// What set-up found, as values on the host.
struct TwoLevelReport {
  CoarseMode mode = CoarseMode::adef2;
  index_t rows = 0;
  index_t aggregates = 0;
  index_t size = 0;            ///< order of E
  index_t uncovered_rows = 0;  ///< of blocks that no entry couples with others: M^-1 is all that they need
  std::size_t bytes = 0;       ///< in the backend's memory, beside M and the matrix
  /// E is singular but for rounding errors of its computation, or not definite where Cholesky inverts it. Up to
  /// max_block_size its pseudo-inverse is there in place of E^-1, as of a block of a BlockJacobi; above that the
  /// inverse of a matrix with a larger diagonal, see TwoLevel.
  bool is_singular = false;
  /// Without NaN and Inf. Else the diagonal of SingularPolicy::scalar_jacobi replaces E^-1, and above max_block_size
  /// zero does.
  bool is_finite = true;
  double rcond = 1.0;  ///< reciprocal condition of E, equilibrated; 0 after a zero pivot
};

/// One or two lines of text.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const TwoLevelReport& report);

[[nodiscard]] BLOCKJACOBI_EXPORT const char* to_string(CoarseMode mode) noexcept;

/// Block-Jacobi M and a coarse space Z, together a preconditioner: what is smooth, which blocks reduce slowly however
/// good their inverses are, is solved for in the space of Z.
///
/// Aggregates of the rows are unions of neighbouring blocks of M, grown by the matching of BlockPartition::clusters in
/// the graph of the blocks; if the graph has more parts than there may be aggregates, some of these have several parts.
/// The columns of Z are vectors of ones on the rows of an aggregate, one for each unknown of a node where a block size
/// is stated with the matrix (rows k b .. (k + 1) b - 1 make a node, also of a renumbered system whose blocks hold
/// whole nodes, as those of BlockPartition::clusters of such a matrix do); or relaxed vectors, or the user's, on each
/// aggregate, made orthonormal there by QR with column pivoting, where directions below sqrt(eps) of the first are
/// dropped. Relaxed vectors are what 15 iterations with M (cg where A is Hermitian definite, else gmres) leave of the
/// error of A e = 0, from ones and from random vectors: the near-kernel, where nobody knows it, at the price of that
/// many products. E = Z^H A Z of an order m up to max_block_size is
/// held as one dense block and inverted as BlockJacobi inverts blocks. If it is singular, as that of a floating body
/// with its rigid motions in Z, then SingularPolicy::pseudo_inverse gives E^+; report() tells. A larger one is
/// equilibrated symmetrically, m eps are added to its diagonal of ones, and it is inverted by LU, under adef2 of a
/// matrix that is Hermitian at construction by Cholesky; without an inverse the correction is zero, and report() tells.
/// As long as its reciprocal condition is above 1e-5 the inverse is read in single precision.
///
/// Construction works where the matrix lies, on CUDA without the host but for relaxed vectors and those of the user,
/// and waits for the sizes of its arrays: Z and Z^H; their product with A (Z^H A, under adef1 A Z), which stands in for
/// the product with A that the modes are written with; and which entries of A are the terms of this product and of E,
/// two numbers of 4 bytes for each entry of A, one with ones. Everything is bitwise reproducible on the same device.
/// refresh() and apply() allocate nothing, synchronize nothing and can be captured in a CUDA graph, refresh() of an E
/// above max_block_size as far as cuSOLVER can. Thread safety: one call at a time, as the products share vectors. One
/// that was moved from may be assigned to and destroyed; every other call throws InvalidArgument.
template <Scalar T>
class BLOCKJACOBI_EXPORT TwoLevel {
 public:
  /// Z of ones or of relaxed vectors. Shares the arrays of `matrix`, of which `block_jacobi` was made. Waits. Throws
  /// InvalidArgument for a matrix that is not square, has 2^31 entries or more, another backend or another number of
  /// rows or entries than `block_jacobi`, for a size or number of relaxed vectors out of range, and a size below the
  /// number of vectors of an aggregate.
  TwoLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, const TwoLevelOptions& options = {});

  /// Z of the user's vectors, the columns of a rows x k array on the host, 1 <= k <= 512, which is not referenced
  /// afterwards: near-kernel vectors, such as rigid_body_modes() of elasticity. Throws as above, and for vectors of
  /// another shape or space, with NaN or Inf, a size below k, and relaxed vectors beside them.
  TwoLevel(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, MultiVectorView<const T> vectors,
           const TwoLevelOptions& options = {});

  TwoLevel(TwoLevel&&) noexcept;
  TwoLevel& operator=(TwoLevel&&) noexcept;
  ~TwoLevel();

  /// Numeric set-up, of M and of E, for the values that the matrix has now: call it after SparseMatrix::update_values,
  /// or after writing to adopted arrays. Aggregates and Z stay. Enqueued, without waiting; as BlockJacobi::refresh().
  void refresh();

  /// z = M^-1 r, with the coarse correction. Enqueued. r and z are rows() long, in the backend's space, and do not
  /// overlap; InvalidArgument else.
  void apply(VectorView<const T> r, VectorView<T> z) const;

  /// u = Q r, otherwise as apply(). Loops of conjugate gradients with CoarseMode::adef2 begin at x + Q (b - A x).
  void correct(VectorView<const T> r, VectorView<T> u) const;

  /// Waits.
  TwoLevelReport report() const;
  /// M.
  const BlockJacobi<T>& block_jacobi() const;
  const Backend& backend() const;
  index_t rows() const;

  /// For the solvers.
  const detail::PreconditionerImpl<T>& preconditioner() const;

 private:
  detail::SoleOwner<detail::TwoLevelImpl<T>> impl_;
};

}  // namespace blockjacobi
