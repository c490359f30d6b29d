#pragma once

#include <blockjacobi/backend.hpp>
#include <blockjacobi/csr_matrix.hpp>
#include <blockjacobi/permutation.hpp>
#include <blockjacobi/sparse_matrix.hpp>
#include <blockjacobi/views.hpp>

#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace blockjacobi {

namespace detail {
class PartitionImpl;
}

/// Which consecutive supervariables share a block.
enum class Merge {
  none,    ///< none: blocks are supervariables
  greedy,  ///< all, as long as they fit: the block pointers of Ginkgo's Jacobi
  coupled  ///< those that the values couple
};

struct DetectOptions {
  index_t max_size = 32;  ///< rows of a block, 1 .. max_block_size
  /// Part of the entries in which two rows of a supervariable may differ, in [0, 1): see BlockPartition::detect.
  double tolerance = 0.0;
  Merge merge = Merge::greedy;
  /// Merge::coupled alone: theta >= 0 of BlockPartition::detect.
  double coupling = 0.01;
};

struct PermutedPartition;

/// Splits the rows 0 .. rows - 1 into contiguous diagonal blocks of order 1 .. max_block_size. Immutable; copies share
/// what they refer to; safe to share between threads. One that was moved from has no rows.
///
/// Offsets exist where they are needed: uniform blocks need none, and offsets that were found on a device stay there
/// (with the backend, which lives as long) until somebody asks for offsets().
class BLOCKJACOBI_EXPORT BlockPartition {
 public:
  /// No rows.
  BlockPartition() = default;

  /// Blocks of `block_size` rows, the last one shorter if it does not divide rows.
  /// Throws InvalidArgument unless rows >= 0 and 1 <= block_size <= max_block_size.
  [[nodiscard]] static BlockPartition uniform(index_t rows, index_t block_size);

  /// The blocks of the size that was stated with the matrix. Throws InvalidArgument if none was, or if the matrix is
  /// not square.
  template <Scalar T>
  [[nodiscard]] static BlockPartition uniform(const SparseMatrix<T>& matrix);

  /// Block b covers rows offsets[b] .. offsets[b+1] - 1. Throws InvalidArgument naming the block and its rows unless
  /// offsets start at 0, increase strictly and no block exceeds max_block_size.
  [[nodiscard]] static BlockPartition from_offsets(std::vector<index_t> offsets);

  /// Exact supervariables, agglomerated: a row joins the block of the row before it if both have the same set of
  /// columns and the block has fewer than `max_size` rows; then consecutive blocks are merged greedily while their
  /// rows together do not exceed max_size. Gives the block pointers of Ginkgo's Jacobi with the same
  /// maximum. Values are not read; a stored zero counts as an entry. O(nnz) for sorted rows.
  /// Throws InvalidArgument for a view that is not square, not on the host or fails validate(), and unless
  /// 1 <= max_size <= max_block_size.
  template <Scalar T, Offset O>
  [[nodiscard]] static BlockPartition detect(const CsrView<T, O>& matrix, index_t max_size = 32);
  template <Scalar T>
  [[nodiscard]] static BlockPartition detect(const CsrMatrix<T>& matrix, index_t max_size = 32) {
    return detect(matrix, DetectOptions{.max_size = max_size});
  }
  /// The same where the matrix lies, without another check of it. Waits.
  template <Scalar T>
  [[nodiscard]] static BlockPartition detect(const SparseMatrix<T>& matrix, index_t max_size = 32) {
    return detect(matrix, DetectOptions{.max_size = max_size});
  }

  /// The same for a view on the host or on the backend's device, where the pattern is validated and stays: neighbouring
  /// rows are compared and blocks are merged in parallel with scratch of about rows / 2 bytes, and the offsets come to
  /// the host when they are asked for. Waits. Throws InvalidArgument as above, naming the row.
  template <Scalar T, Offset O>
  [[nodiscard]] static BlockPartition detect(const Backend& backend, const CsrView<T, O>& matrix,
                                             index_t max_size = 32);

  /// Supervariables and how they are merged, as options say.
  ///
  /// A row joins the supervariable of the row before it, if that has fewer than max_size rows, when their column sets P
  /// and Q satisfy |P xor Q| <= tolerance |P or Q|; with tolerance 0 that is P = Q.
  ///
  /// Merge::coupled puts supervariable J into the block that is being filled if it fits and some supervariable I of
  /// that block is strongly coupled to it:
  ///     max(|A_IJ|, |A_JI|) >= theta sqrt(|A_II| |A_JJ|)   and   max(|A_IJ|, |A_JI|) > 0,
  /// |.| being the largest magnitude in a block of the matrix. A -> D A D with one factor a supervariable changes no
  /// decision. A diagonal matrix stays 1 x 1; a row with zeros on its diagonal joins whatever it is coupled to. NaN
  /// couples nothing. For theta see docs/kernels/diary/choices.md.
  ///
  /// The view lies on the host or on the backend's device, where Merge::coupled takes scratch of about 15 bytes a row;
  /// a matrix whose rows are not sorted, or with duplicates, is copied to the host for it. O(nnz) for sorted rows;
  /// waits. Throws as above, for a tolerance or coupling out of range, and for a matrix
  /// without values where Merge::coupled needs them.
  template <Scalar T, Offset O>
  [[nodiscard]] static BlockPartition detect(const Backend& backend, const CsrView<T, O>& matrix,
                                             const DetectOptions& options);
  template <Scalar T, Offset O>
  [[nodiscard]] static BlockPartition detect(const CsrView<T, O>& matrix, const DetectOptions& options);
  template <Scalar T>
  [[nodiscard]] static BlockPartition detect(const CsrMatrix<T>& matrix, const DetectOptions& options);
  template <Scalar T>
  [[nodiscard]] static BlockPartition detect(const SparseMatrix<T>& matrix, const DetectOptions& options);

  /// Blocks of rows that need not be neighbours: the rows with equal labels make one block, any numbers serve. In the
  /// new numbering blocks follow each other as their first rows did, and rows within a block keep their order. O(rows
  /// log rows). Throws InvalidArgument naming the label if it has more than max_block_size rows.
  [[nodiscard]] static PermutedPartition from_labels(std::span<const index_t> labels);

  /// Blocks of strongly coupled rows wherever they stand, found by METIS (Karypis and Kumar, 1998): recursive
  /// bisections of the graph of the supervariables (of at most max_size / 4 rows) that cut as little as possible of
  ///     w_ij = min(1, |a_ij| / sqrt(s_i s_j)) + min(1, |a_ji| / sqrt(s_i s_j)),
  /// s_i being |a_ii|, or the largest magnitude in row i if that is zero. Parts are about 0.9 max_size rows on average;
  /// those that exceed max_size are split, parts that do not hang together are taken apart, and small ones are
  /// merged with the neighbours that they are coupled to most. The view lies on the host.
  ///
  /// METIS takes random numbers from the C library's rand(): calls from several threads wait for one another, start
  /// from the same numbers each, so that the same input gives the same blocks, and the caller's own sequence goes on
  /// behind as if nothing had been (with glibc; others lose it). A thread that draws from rand() or random() meanwhile
  /// draws from METIS's numbers, and the blocks may then be others.
  ///
  /// Throws InvalidArgument as detect(), for a matrix without values and for more than 2^31 - 1 couplings, and
  /// Unavailable if the library was built without METIS.
  template <Scalar T, Offset O>
  [[nodiscard]] static PermutedPartition metis(const CsrView<T, O>& matrix, index_t max_size = 32);
  template <Scalar T>
  [[nodiscard]] static PermutedPartition metis(const CsrMatrix<T>& matrix, index_t max_size = 32);
  /// The same; a matrix on a device is copied to the host.
  template <Scalar T>
  [[nodiscard]] static PermutedPartition metis(const SparseMatrix<T>& matrix, index_t max_size = 32);
  /// Whether the library was built with METIS.
  [[nodiscard]] static bool metis_available() noexcept;

  /// Blocks of strongly coupled rows wherever they stand, by repeated matching; as good as those of metis() and found
  /// in a small part of its time. Rows of a node stay together: nodes are the supervariables, of at most 8 rows, or
  /// `nodes`, blocks of consecutive rows (uniform(rows, 3) for three unknowns a node). Each pass pairs the nodes, and
  /// then the clusters, I and J that ask for each other, each for the one with the greatest
  ///     w_IJ^3 / (rows_I rows_J),   w_IJ = sum of w_ij over i in I and j in J, w_ij as of metis(),
  /// of those that it fits together with in max_size rows. Rounds of moves follow, back from the clusters of each pass
  /// to those before: what is tied more to a neighbouring cluster with room than to its own changes over (multilevel
  /// scheme of Karypis and Kumar, 1998; matching by handshakes as of Manne and Bisseling, 2008). O(nnz) a pass, about
  /// log2(max_size) + 2 of them, on all threads of OpenMP; the same blocks with any number of threads. The view lies on
  /// the host. Throws InvalidArgument as metis(), and for nodes of other rows than the matrix or of more than max_size.
  template <Scalar T, Offset O>
  [[nodiscard]] static PermutedPartition clusters(const CsrView<T, O>& matrix, index_t max_size = 32);
  template <Scalar T, Offset O>
  [[nodiscard]] static PermutedPartition clusters(const CsrView<T, O>& matrix, const BlockPartition& nodes,
                                                  index_t max_size = 32);
  template <Scalar T>
  [[nodiscard]] static PermutedPartition clusters(const CsrMatrix<T>& matrix, index_t max_size = 32);
  template <Scalar T>
  [[nodiscard]] static PermutedPartition clusters(const CsrMatrix<T>& matrix, const BlockPartition& nodes,
                                                  index_t max_size = 32);
  /// The same; nodes are those of the block size that is stated with the matrix, else the supervariables. For a matrix
  /// on a device the same blocks are found there, on the backend's stream, and the permutation stays there as well.
  /// That asks for about 36 bytes an entry and 144 bytes a row of the device's memory meanwhile, for more where blocks
  /// have only a few rows or the pattern is not symmetric, and waits. Throws CudaError if there is not so much.
  template <Scalar T>
  [[nodiscard]] static PermutedPartition clusters(const SparseMatrix<T>& matrix, index_t max_size = 32);

  index_t rows() const noexcept;
  index_t blocks() const noexcept;
  /// blocks() + 1, on the host. The first call makes or fetches them: it takes memory and, where a device found them,
  /// waits for its stream.
  std::span<const index_t> offsets() const;
  /// 0 <= block <= blocks(). Like block_size(), may ask for offsets().
  index_t first_row(index_t block) const;
  index_t block_size(index_t block) const { return first_row(block + 1) - first_row(block); }
  /// 0 if there is no block.
  index_t largest_block() const noexcept;
  PartitionView view() const { return {offsets().data(), blocks(), rows(), MemorySpace::host}; }

  friend bool operator==(const BlockPartition& a, const BlockPartition& b) { return a.equals(b); }

  /// For the library.
  explicit BlockPartition(std::shared_ptr<const detail::PartitionImpl> impl) noexcept : impl_(std::move(impl)) {}
  /// Null if there are no rows.
  const std::shared_ptr<const detail::PartitionImpl>& impl() const noexcept { return impl_; }

 private:
  /// Valid ones.
  explicit BlockPartition(std::vector<index_t> offsets);
  bool equals(const BlockPartition& other) const;
  std::shared_ptr<const detail::PartitionImpl> impl_;
};

/// Blocks of a renumbered system. What is said of its rows, by reports and errors too, has their new numbers;
/// in_original_rows() changes a report back. The way of a solve, with b and x in the user's numbering:
///
///     const auto [permutation, blocks] = BlockPartition::from_labels(labels);
///     const PermutedMatrix<double> B(matrix, permutation);
///     const LinearOperator<double> A(backend, B.view());
///     const BlockJacobi<double> M(backend, B.view(), blocks);
///     const std::vector<double> c = permutation.to_permuted(b);
///     std::vector<double> y = permutation.to_permuted(x);
///     const SolveReport report = cg(A, M, c, y);
///     x = permutation.to_original(y);
struct PermutedPartition {
  Permutation permutation;
  BlockPartition blocks;  ///< of the rows in their new numbering
};

template <Scalar T>
PermutedPartition BlockPartition::metis(const CsrMatrix<T>& matrix, index_t max_size) {
  return metis(matrix.view(), max_size);
}

template <Scalar T>
PermutedPartition BlockPartition::clusters(const CsrMatrix<T>& matrix, index_t max_size) {
  return clusters(matrix.view(), max_size);
}
template <Scalar T>
PermutedPartition BlockPartition::clusters(const CsrMatrix<T>& matrix, const BlockPartition& nodes, index_t max_size) {
  return clusters(matrix.view(), nodes, max_size);
}

template <Scalar T>
PermutedPartition BlockPartition::metis(const SparseMatrix<T>& matrix, index_t max_size) {
  if (matrix.backend().memory_space() != MemorySpace::host) return metis(matrix.to_host(), max_size);
  return std::visit([max_size](const auto& view) { return metis(view, max_size); }, matrix.view());
}

}  // namespace blockjacobi
