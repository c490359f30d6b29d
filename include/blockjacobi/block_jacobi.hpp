#pragma once

#include <blockjacobi/block_batch.hpp>

#include <memory>
#include <optional>
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

/// What takes the place of the inverse of a block A that is singular or holds NaN or Inf. R and C are the powers of two
/// that equilibrate the rows and columns of A thoroughly, see BlockJacobi (R = C for a Hermitian A), eps is LAPACK's
/// epsilon('P').
enum class SingularPolicy {
  fail,           ///< construction throws SingularBlock; after a refresh the next solve ends with singular_block
  identity,       ///< I
  scalar_jacobi,  ///< diag(1 / a_ii), with 1 where a_ii is zero, missing or not finite or 1 / a_ii overflows
  /// (A + R^-1 S C^-1)^-1, S diagonal: every diagonal element b_ii of the equilibrated block B = R A C moves away from
  /// zero by the same s, to b_ii (1 + s / |b_ii|), or to s where it is zero; that of a row of zeros by 1. s is the
  /// first of 2^-26, 2^-22, ..., 2^14 (single precision: 2^-11, 2^-7, ..., 2^13) with which the reciprocal condition of
  /// B + S is at least 10 N eps. There always is one. Of a symmetric semidefinite block it makes a definite one.
  shift,
  /// C B^+ R, where B^+ is the Moore-Penrose inverse of B = R A C by QR with column pivoting. Its rank is the number of
  /// |r_jj| > 10 N eps |r_11|, at most N - 1. For a Hermitian A the result is (C B^+ R + (C B^+ R)^H) / 2; it
  /// may be indefinite where A is definite if no gap in the spectrum tells the rank (shift leaves it definite).
  pseudo_inverse
  // Under the last two, blocks with NaN or Inf and blocks whose result overflows get scalar_jacobi's diagonal.
};

/// How the inverses are stored. They are computed in the working precision, and products with them are accumulated in
/// it; the narrow formats hold X / 2^e, with one exponent e a block that brings its largest number near the greatest
/// one of the format. That is enough for bf16 and fp32, whose numbers reach down to 2^-246 of the largest; fp16 keeps
/// all its digits down to 2^-29 of the largest and loses what is below 2^-39 of it, which one in 26 systems of
/// benchmarks/results/storage-host.md feels: an exponent a column would cost every apply for the sake of those,
/// adaptive takes another format for such blocks, and a block of which a whole row or column is lost is counted as
/// unsuited by the report. In bf16 and fp16 the inverse of a definite block may become
/// indefinite where the condition number exceeds 2^8 or 2^11; CG then ends with indefinite_preconditioner. Of a small
/// system the work space for conversions can take more than a narrow format saves: see BlockJacobi::bytes().
enum class Storage {
  full,    ///< the working precision, N^2 numbers a block
  packed,  ///< the working precision, the N (N + 1) / 2 numbers of a triangle; for real symmetric or Hermitian matrices
  fp32,    ///< single precision; the same as full where that is the working precision
  bf16,    ///< 16 bits, 8 of them for the digits
  fp16,    ///< 16 bits, 11 of them for the digits
  adaptive  ///< for each block the cheapest of fp16, bf16, fp32 with ||I - A X|| < accuracy; full if none has that
};
/// How many there are.
inline constexpr int storage_count = static_cast<int>(Storage::adaptive) + 1;

struct BlockJacobiOptions {
  SingularPolicy singular = SingularPolicy::fail;
  /// packed: a block in which a_ij and conj(a_ji) differ by more than 64 eps max(|a_ij|, sqrt(|a_ii a_jj|)) is an
  /// error: construction throws InvalidArgument naming the block, the element and the values. After a refresh such
  /// blocks are counted in the report. What is stored is (X + X^H) / 2 in any case.
  Storage storage = Storage::full;
  /// adaptive: the bound of ||I - A X||, infinity norm, with X as stored. The meaning is that of the accuracy of
  /// Ginkgo's Jacobi (Anzt, Dongarra, Flegar, Higham, Quintana-Orti, Adaptive precision in block-Jacobi
  /// preconditioning, 2019), where condition number times unit roundoff of the format stands for the residual that is
  /// measured here.
  double accuracy = 0.1;
  /// l1 block-Jacobi, a smoother that converges for every Hermitian positive definite matrix without damping (Baker,
  /// Falgout, Kolev, Yang, Multigrid smoothers for ultraparallel computing, 2011): before the inversion each diagonal
  /// element a_ii becomes a_ii + sign(Re a_ii) sum |a_ij|, j over the stored entries outside of the block (an entry
  /// stored in parts counts part by part). Keeps the pattern and a copy of the values in the backend's memory.
  bool l1 = false;
  /// Take a fingerprint of the pattern at construction, one more pass over it, for refresh() of a matrix view. Without
  /// one that function throws.
  bool check_pattern = true;
  /// Take the times of the phases of construction and rebuild() for the report. These wait between the phases then;
  /// refresh() never does, and is not measured.
  bool profile = false;
};

/// Seconds that the phases of construction and of the last rebuild() took.
struct SetupTimes {
  double analysis = 0.0;   ///< of the pattern, and allocation; at construction
  double inversion = 0.0;  ///< extraction, equilibration, inversion, and the diagonals of singular blocks
  double repair = 0.0;     ///< of singular blocks under SingularPolicy::shift and pseudo_inverse
  double storage = 0.0;    ///< choice of the formats, and conversion, for other storage than full
};

/// A block that could not be inverted.
struct BlockDefect {
  index_t block = 0;
  index_t first_row = 0;
  index_t size = 0;
  int info = 0;        ///< see BlockJacobi::info()
  double rcond = 0.0;  ///< see BlockJacobi::rcond()
  /// Under l1, if info names a diagonal element that took NaN or Inf from an entry of its row outside of the block: the
  /// column of the first such entry. -1 else.
  index_t outside = -1;
  /// The rows as in_original_rows() names them; else empty.
  std::vector<index_t> original_rows{};
  /// info > size, not for the reciprocal condition but because elements of the inverse overflow.
  bool overflows = false;
};

/// What set-up found, as values on the host.
struct BlockJacobiReport {
  index_t rows = 0;
  index_t blocks = 0;
  ScalarType scalar = ScalarType::d;
  SingularPolicy policy = SingularPolicy::fail;
  std::vector<std::pair<index_t, index_t>> sizes;  ///< (order, how many blocks), ascending
  std::size_t bytes = 0;                           ///< as BlockJacobi::bytes()
  double entries_inside = 0.0;       ///< stored entries inside the blocks / stored entries; 1 for an empty matrix
  index_t singular_blocks = 0;       ///< info > 0
  index_t non_finite_blocks = 0;     ///< info < 0
  double min_rcond = 1.0;            ///< over the blocks that were inverted; 1 if there is none
  index_t min_rcond_block = -1;      ///< block number, -1 if no block was inverted
  std::vector<BlockDefect> defects;  ///< every block with info != 0, by block number
  Storage storage = Storage::full;
  /// (full, packed, fp32, bf16 or fp16, how many blocks are stored so), of those that occur.
  std::vector<std::pair<Storage, index_t>> formats;
  std::size_t inverse_bytes = 0;  ///< of the inverses alone
  /// Blocks that do not suit their format, and the first of them, -1 if there is none. fp32, bf16, fp16: a row or
  /// column of the inverse has non-zeros, but is stored as zeros alone, so that M^-1 is singular. packed, after a
  /// refresh: not Hermitian. adaptive, after a refresh: ||I - A X|| is no longer below the accuracy in a narrow format
  /// or, of a block that could not be inverted, what takes its place loses a row or column.
  index_t unsuited_blocks = 0;
  index_t first_unsuited = -1;
  std::optional<SetupTimes> times;  ///< with BlockJacobiOptions::profile
  // What report() finds from the matrix, if it is given.
  std::optional<double> captured;  ///< the weight that lies inside the blocks, as BlockCandidate::captured
  std::optional<double>
      max_growth;                 ///< largest pivot_growth() of the blocks without NaN and Inf; none if there is none
  index_t max_growth_block = -1;  ///< block number
};

/// The report of a system that was renumbered, with the numbers that rows and columns had before where defects name
/// them. Throws InvalidArgument unless the permutation has as many numbers as the report has rows, and if a defect has
/// them already.
[[nodiscard]] BLOCKJACOBI_EXPORT BlockJacobiReport in_original_rows(BlockJacobiReport report,
                                                                    const Permutation& permutation);

/// One sentence: block, rows, and what is wrong with it, with the value.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string describe(const BlockDefect& defect);

/// A few lines of text; lists the first ten defects and says how many more there are.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_text(const BlockJacobiReport& report);

/// The same as one JSON object, with every defect; NaN and Inf are null.
[[nodiscard]] BLOCKJACOBI_EXPORT std::string to_json(const BlockJacobiReport& report);

[[nodiscard]] BLOCKJACOBI_EXPORT const char* to_string(SingularPolicy policy) noexcept;
[[nodiscard]] BLOCKJACOBI_EXPORT const char* to_string(Storage storage) noexcept;

/// Block-Jacobi preconditioner M = diag(A_11, ..., A_kk): keeps the explicit inverse of every diagonal block of a
/// square sparse matrix and applies z = M^-1 r as a batched matrix-vector product.
///
/// Construction analyses the pattern once (on CUDA on the device for a matrix that is canonical, else on the host) and
/// then runs the numeric set-up: extract (missing entries are zeros, duplicates are summed), equilibrate rows and
/// columns by powers of two, invert by Gauss-Jordan elimination with partial pivoting, undo the scaling, store. (CUDA
/// may choose among pivots that are nearly equal, and leave the columns as they are where that changes only the units
/// of the inverse.) A block is singular if a pivot is exactly zero or the reciprocal condition number of the
/// equilibrated block B = R A C, 1 / (||B|| ||B^-1||) in the infinity norm, is below 10 N eps, or its inverse
/// overflows. Such a block, and one that holds NaN or Inf, never passes silently: see SingularPolicy, info(), report().
///
/// Where the matrix is stated to be its own conjugate transpose (SparseMatrixOptions::symmetry), inverses of blocks
/// above 32 rows are exactly Hermitian: on the host half the sum of the inverse and its adjoint; on CUDA those of
/// definite blocks that fit in shared memory, which are inverted without a search for pivots: r_i = c_i from the
/// diagonal, and one sweep over a triangle by Cholesky factors of tiles (Bientinesi, Gunter, van de Geijn, Families of
/// algorithms related to the inversion of a symmetric positive definite matrix, 2008). There a block that is not
/// definite, or that is ill-conditioned, goes the way of all others, block by block. A symmetry that symmetry() found
/// does not count: values may change, and recorded work with them.
///
/// Equilibration takes two steps. First the largest element of every row, then that of every column becomes at least 1
/// and less than 2. That is one choice of many, since largest elements do not determine R and C, and a bad one for
/// sparse blocks of rows in very different units. So what it does not serve (a block that is singular after it; powers
/// near the ends of the range; a pivot from row i in step k with (r_i / c_i) / (r_k / c_k) above 2^17, in single
/// precision 2^8) is equilibrated again, thoroughly, such that the units of rows and columns do not matter: D A D and
/// D1 A D2 are as regular as A for all diagonal D, D1, D2 that the range of the scalar holds.
/// - Hermitian blocks whose elements are at most about sqrt(|a_ii a_jj|), all definite ones among them: r_i = c_i =
///   2^-floor(log2(|a_ii|) / 2) (van der Sluis, Condition numbers and equilibration of matrices, 1969);
/// - others: R and C such that the elements of the permutation with the largest product become 1 and no other larger
///   (Olschowka, Neumaier, A new pivoting strategy for Gaussian elimination, 1996; Duff, Koster, On algorithms for
///   permuting large entries to the diagonal of a sparse matrix, 2001), and the largest of the other elements of such a
///   row and column alike (Osborne, On pre-conditioning of matrices, 1960); for Hermitian blocks the geometric means of
///   r_i and c_i (Duff, Pralet, Strategies for scaling and pivoting for sparse symmetric indefinite problems, 2005);
/// - blocks of which every permutation contains a zero, which are singular: as in the first step.
///
/// Everything is bitwise reproducible on the same device. refresh() and apply() allocate nothing, synchronize nothing
/// and can be captured in a CUDA graph. Thread safety: apply() and the queries may be called from several threads on a
/// host backend, from one at a time on CUDA; refresh(), rebuild(), pivot_growth() and report() of a matrix exclude
/// every other call. One that was moved from may be assigned to and destroyed; every other call throws InvalidArgument.
template <Scalar T>
class BLOCKJACOBI_EXPORT BlockJacobi {
 public:
  /// On the backend of the matrix, which is not referenced afterwards. Waits for the set-up. Throws InvalidArgument for
  /// a matrix that is not square or does not have the partition's rows, for an accuracy that is not positive, and for a
  /// block that is not Hermitian under Storage::packed; SingularBlock under SingularPolicy::fail.
  BlockJacobi(const SparseMatrix<T>& matrix, const BlockPartition& partition, const BlockJacobiOptions& options = {});

  /// The view may lie on the host or on the backend's device and is not referenced afterwards. Waits for the set-up.
  /// Throws InvalidArgument for a matrix that is not square, fails validate() or does not have the partition's rows,
  /// for an accuracy that is not positive, and for a block that is not Hermitian under Storage::packed; SingularBlock
  /// under SingularPolicy::fail.
  template <Offset O>
  BlockJacobi(const Backend& backend, const CsrView<T, O>& matrix, const BlockPartition& partition,
              const BlockJacobiOptions& options = {});

  BlockJacobi(const Backend& backend, const CsrMatrix<T>& matrix, const BlockPartition& partition,
              const BlockJacobiOptions& options = {});

  /// Pattern analysis and allocation alone; `pattern.values` is not read and may be null. The object waits for its
  /// first refresh(): until then all that needs the inverses (apply, queries, solves) throws InvalidArgument. Throws
  /// otherwise as the constructor, but never SingularBlock.
  template <Offset O>
  [[nodiscard]] static BlockJacobi analyze(const Backend& backend, const CsrView<T, O>& pattern,
                                           const BlockPartition& partition, const BlockJacobiOptions& options = {});
  [[nodiscard]] static BlockJacobi analyze(const SparseMatrix<T>& pattern, const BlockPartition& partition,
                                           const BlockJacobiOptions& options = {});

  BlockJacobi(BlockJacobi&&) noexcept;
  BlockJacobi& operator=(BlockJacobi&&) noexcept;
  ~BlockJacobi();

  /// Numeric set-up for new values of the same pattern: values[k] belongs to the k-th stored entry of the matrix given
  /// at construction. The values lie in the backend's space and number nnz. Enqueued, without waiting.
  /// Throws InvalidArgument for the wrong length or space. Does not throw for singular blocks: under
  /// SingularPolicy::fail they are replaced by I, and the next solve ends with singular_block. Keeps the formats of
  /// adaptive storage; only the first refresh() after analyze() chooses them, as rebuild() does.
  void refresh(const T* values, offset_t nnz, MemorySpace space);

  /// The same for the values of `matrix`, which lies in the backend's space, after a comparison of its pattern with the
  /// one given at construction: InvalidArgument if rows, entries, row offsets or columns differ (the base and the width
  /// of the offsets may), or if the object was made without check_pattern. The comparison goes by a 64-bit fingerprint,
  /// reads the pattern once and waits.
  template <Offset O>
  void refresh(const CsrView<T, O>& matrix);
  /// The same for the values that a matrix of this backend has now; takes the fingerprint of a matrix once, and waits
  /// for nothing after that.
  void refresh(const SparseMatrix<T>& matrix);

  /// The same as a new construction with these values, without the analysis of the pattern: chooses the formats of
  /// adaptive storage anew and allocates what they take, waits, and throws as refresh() and the constructor. Where the
  /// memory for it is missing, the object waits for its next refresh() as after analyze(). With adaptive storage the
  /// inverses then lie elsewhere: CUDA graphs with a refresh(), apply() or solve of this object that were captured
  /// before must not be launched again, capture them anew. With any other storage they remain valid.
  void rebuild(const T* values, offset_t nnz, MemorySpace space);

  /// z = op(M^-1) r. Enqueued. r and z are rows() long, in the backend's space, and do not overlap; InvalidArgument
  /// else.
  void apply(VectorView<const T> r, VectorView<T> z, Op op = Op::none) const;
  /// z = alpha op(M^-1) r + beta z; z is not read if beta is zero.
  void apply(T alpha, VectorView<const T> r, T beta, VectorView<T> z, Op op = Op::none) const;

  /// Z = op(M^-1) R and Z = alpha op(M^-1) R + beta Z for rows() x k vectors, each row- or column-major; a block is
  /// read once for several columns. Otherwise as for one vector; R and Z are taken to overlap if their extents in
  /// memory do.
  void apply(MultiVectorView<const T> R, MultiVectorView<T> Z, Op op = Op::none) const;
  void apply(T alpha, MultiVectorView<const T> R, T beta, MultiVectorView<T> Z, Op op = Op::none) const;

  /// LAPACK meaning, by block number: 0 inverted; k in 1..N: pivot k is exactly zero (the first); N + 1: the
  /// reciprocal condition is below the threshold or the inverse overflows; -(1 + i + j N): the first element, in
  /// column-major order, that is NaN or Inf (or sums to it, under l1 with entries outside of the block) is (i, j).
  /// Waits.
  std::vector<int> info() const;

  /// Reciprocal condition number of each equilibrated block, by block number; 0 after a zero pivot, NaN for a block
  /// with NaN or Inf. Waits.
  std::vector<real_t<T>> rcond() const;

  /// What info() and rcond() copy, in the backend's memory, by block number; does not wait. Written by refresh() and
  /// rebuild() in the order of the stream, valid as long as the object.
  VectorView<const int> info_view() const;
  VectorView<const real_t<T>> rcond_view() const;

  /// Pivot growth of each block, by block number: max |u_ij| / max |b_ij|, where B = R A C is the block after the first
  /// step of equilibration and P B = L U its LU factorization with partial pivoting (batched::getrf). It is the
  /// reciprocal of what LAPACK's xGESVX calls reciprocal pivot growth, at most 2^(N-1) for real blocks, and tells how
  /// many digits elimination may lose beyond those that the condition costs. 1 for a block of zeros; of the whole
  /// factorization for a singular block; NaN for a block with NaN or Inf; Inf or NaN where the factorization overflows.
  ///
  /// `values` as for refresh(), since the set-up does not look at growth and keeps no matrix; under l1 those of the
  /// last set-up, as its copy of them is written again. Otherwise nothing changes, and what the object was set up with
  /// does not matter. The blocks are factored a second time, in memory that the call allocates and gives back; the
  /// result lies in the backend's memory and is ready in the order of the stream. The call itself may wait. Throws
  /// InvalidArgument for the wrong length or space. Excludes every other call, as refresh().
  Array<real_t<T>> pivot_growth(const T* values, offset_t nnz, MemorySpace space);

  /// How many blocks have info() != 0. Waits, but copies one number only.
  index_t defects() const;

  /// Waits.
  BlockJacobiReport report() const;

  /// The same with what takes the matrix, which is not kept: `captured` by a pass over it on the host, and the largest
  /// pivot_growth(). `matrix` is the one of the last set-up, on the host or on the backend's device. Throws
  /// InvalidArgument for other sizes, a null pointer or an invalid pattern. Excludes every other call, as
  /// pivot_growth().
  template <Offset O>
  BlockJacobiReport report(const CsrView<T, O>& matrix);
  BlockJacobiReport report(const CsrMatrix<T>& matrix) { return report(matrix.view()); }
  BlockJacobiReport report(const SparseMatrix<T>& matrix);

  /// The stored inverses; unspecified before the first refresh() of an object from analyze(). InvalidArgument unless
  /// the storage is full.
  BlockBatchView<const T> inverse() const;
  /// Copies the inverse of one block to the host, column-major, as apply() uses it: widened where it is stored in a
  /// narrow format. Waits.
  std::vector<T> inverse_block(index_t block) const;

  const Backend& backend() const;
  const BlockPartition& partition() const;
  index_t rows() const;
  /// Stored entries of the matrix given at construction, the length refresh() expects.
  offset_t nnz() const;
  /// Bytes held in the backend's memory: inverses, block tables, position map, info, and the work space of other
  /// storage than full and of the policies shift and pseudo_inverse. That of other storage than full holds inverses in
  /// full precision on their way, all of them where they are few, so that a small system may take more than with full.
  std::size_t bytes() const;
  /// Bytes of the inverses alone, before anything is allocated; an upper bound for Storage::adaptive.
  [[nodiscard]] static std::size_t storage_bytes(const BlockPartition& partition, Storage storage = Storage::full);
  /// What bytes() of an object with this pattern and the default options will be, without allocating on a backend, up
  /// to 32 bytes a block that a device may take more; O(nnz) on the host. The view lies on the host, its values are not
  /// read. Throws InvalidArgument as the constructor.
  template <Offset O>
  [[nodiscard]] static std::size_t required_bytes(const CsrView<T, O>& pattern, const BlockPartition& partition);
  /// The same on that backend, exactly, with these options; an upper bound for Storage::adaptive.
  template <Offset O>
  [[nodiscard]] static std::size_t required_bytes(const Backend& backend, const CsrView<T, O>& pattern,
                                                  const BlockPartition& partition, const BlockJacobiOptions& options);
  /// The same on the backend of the matrix; a pattern on a device is copied to the host.
  [[nodiscard]] static std::size_t required_bytes(const SparseMatrix<T>& pattern, const BlockPartition& partition,
                                                  const BlockJacobiOptions& options = {});

  /// For the solvers.
  const detail::PreconditionerImpl<T>& preconditioner() const;

 private:
  explicit BlockJacobi(std::unique_ptr<detail::BlockJacobiImpl<T>> impl) noexcept;
  const detail::BlockJacobiImpl<T>& set_up(const char* function) const;
  void require_values(const char* function, const T* values, offset_t nnz, MemorySpace space) const;
  void require_vectors(const VectorView<const T>& r, const VectorView<T>& z, Op op) const;
  detail::SoleOwner<detail::BlockJacobiImpl<T>> impl_;
};

}  // namespace blockjacobi
