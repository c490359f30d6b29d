#pragma once

#include <blockjacobi/block_jacobi.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class MultigridImpl;
}  // namespace detail

struct MultigridOptions {
  /// Rows of a coarser level from which on it is inverted, 1 .. max_block_size. Without more, A itself is left to M.
  index_t coarsest = max_block_size;
  /// Relaxed vectors, as those of a TwoLevel, that take the place of ones, at most max_block_size; 0: ones.
  index_t relaxed = 0;
};

/// One matrix of the hierarchy.
struct MultigridLevel {
  index_t rows = 0;
  offset_t nnz = 0;
  /// 4/3 over what was found for the largest eigenvalue of M^-1 A; 0 for the coarsest level.
  double relaxation = 0.0;
};

/// What set-up found, as values on the host.
struct MultigridReport {
  std::vector<MultigridLevel> levels;  ///< the matrix itself first
  std::size_t bytes = 0;               ///< in the backend's memory, beside M, the matrix and products
  /// A matrix below the first is singular but for the rounding errors of its computation; pseudo-inverses are there.
  bool is_singular = false;
  /// No matrix below the first has NaN or Inf.
  bool is_finite = true;
  double rcond = 1.0;  ///< reciprocal condition of the coarsest matrix, equilibrated; NaN where it has NaN
};

/// A line for each level.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const MultigridReport& report);

/// Smoothed aggregation multigrid with block-Jacobi as its smoother: iterations that hardly grow with the mesh, of
/// Hermitian positive definite A (Vanek, Mandel, Brezina, Algebraic multigrid by smoothed aggregation for second and
/// fourth order elliptic problems, 1996).
///
/// Nodes of A (rows, or as many together as the block size that is stated with the matrix) are coupled by the sum of
/// |a_ij| / sqrt(|a_ii a_jj|), strongly from 0.25 of the largest coupling at either of the two on, on coarser levels
/// from 0.1 on. Aggregates grow around a maximal set of nodes of which no two are strongly coupled or have a strongly
/// coupled neighbour in common (Bell, Dalton, Olson, Exposing fine-grained parallelism in algebraic multigrid methods,
/// 2012). Where that leaves more columns of Z than half the rows, or the next matrix more entries than this one, the
/// matching of BlockPartition::clusters grows aggregates of about 12 nodes. Z has a column of ones for each unknown of
/// a node on each aggregate, or relaxed vectors or the user's there, made orthonormal by QR with column pivoting.
/// P = (I - w D^-1 A) Z, D being the diagonal of A and w 4/3 over the largest eigenvalue of D^-1 A, and
/// P^H A P is the matrix of the next level, whose nodes are the aggregates, until it has no more than
/// MultigridOptions::coarsest rows and is inverted as BlockJacobi inverts blocks.
///
/// apply() is one V-cycle from zero on each level: x = v M^-1 r; x += P (the next level's answer to P^H (r - A x));
/// x += v M^-1 (r - A x), with v 4/3 over the largest eigenvalue of M^-1 A. M is the BlockJacobi given, on coarser
/// levels that of the columns of each aggregate. The cycle is Hermitian and positive definite as long as v M^-1 A has
/// no eigenvalue from 2 on: it serves cg, minres and the others without a correction of the start.
///
/// Eigenvalues are 1.1 times what five steps of the power method find for the values at construction; refresh() keeps
/// both relaxations. Everything is bitwise reproducible on the same device. refresh() and apply() allocate nothing,
/// synchronize nothing and can be captured in a CUDA graph. Thread safety: one call at a time, as cycles share vectors.
/// One that was moved from may be assigned to and destroyed; every other call throws InvalidArgument.
template <Scalar T>
class BLOCKJACOBI_EXPORT Multigrid {
 public:
  /// Shares the arrays of `matrix`, of which `block_jacobi` was made. Waits. Throws InvalidArgument for a matrix that
  /// is not Hermitian but for rounding, has 2^31 entries or more, another backend or another number of rows or entries
  /// than `block_jacobi`, and options out of range. Hermitian but for rounding is what SparseMatrix::is_hermitian()
  /// says is, or, where no symmetry was stated, would say with a symmetry_tolerance of 1000 epsilons of its precision.
  Multigrid(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, const MultigridOptions& options = {});

  /// With the user's vectors, the columns of a rows x k array on the host, 1 <= k <= 512, which is not referenced
  /// afterwards: near-kernel vectors, such as rigid_body_modes() of elasticity. Throws as above, and for vectors of
  /// another shape or space, with NaN or Inf, and relaxed vectors beside them.
  Multigrid(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, MultiVectorView<const T> vectors,
            const MultigridOptions& options = {});

  Multigrid(Multigrid&&) noexcept;
  Multigrid& operator=(Multigrid&&) noexcept;
  ~Multigrid();

  /// Numeric set-up of all levels for the values that the matrix has now: call it after SparseMatrix::update_values, or
  /// after writing to adopted arrays. Aggregates, Z and relaxations stay; whether A is Hermitian still is not asked.
  /// Enqueued, without waiting.
  void refresh();

  /// z = one V-cycle for A z = r. Enqueued. r and z are rows() long, in the backend's space, and do not overlap;
  /// InvalidArgument else.
  void apply(VectorView<const T> r, VectorView<T> z) const;

  /// Waits.
  MultigridReport report() const;
  /// M of the finest level.
  const BlockJacobi<T>& block_jacobi() const;
  const Backend& backend() const;
  index_t rows() const;

  /// For the solvers.
  const detail::PreconditionerImpl<T>& preconditioner() const;

 private:
  detail::SoleOwner<detail::MultigridImpl<T>> impl_;
};

}  // namespace blockjacobi
