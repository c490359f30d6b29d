#pragma once

#include <blockjacobi/suggest.hpp>

#include <cstddef>

namespace blockjacobi::detail {

/// Of the restart, the iterations of GMRES that a probe runs at most.
constexpr double probed_part = 0.5;

/// What a probe is expected to take, in seconds.
struct ProbeCost {
  double start = 0.0;
  double iteration = 0.0;
};

/// All that costs depend on of a partition.
struct BlockShape {
  BlockShape() = default;
  BlockShape(const BlockPartition& partition);
  /// So many blocks of one row.
  static BlockShape of_rows(double rows);
  /// Clusters of at most so many rows, before they are found.
  static BlockShape of_clusters(double rows, index_t max_size);

  double blocks = 0.0, squares = 0.0, cubes = 0.0;  ///< sums of 1, N^2, N^3
  index_t largest = 0;
};

/// What the costs of all candidates for one matrix have in common; formulas in <blockjacobi/suggest.hpp>.
struct CostModel {
  double rows = 0.0;
  double nnz = 0.0;
  double scalar_bytes = 8.0;
  double vector_words = 0.0;  ///< a row and iteration, beside product and application
  double spared_words = 0.0;  ///< of these, what the first iterations of GMRES do without
  double bandwidth = 1.0;
  double latency = 0.0;      ///< of an iteration
  double row_latency = 0.0;  ///< what it takes more for each row of the largest block
  double flops = 1.0;        ///< a second, of the inversion
  /// Set-up and the start of the solver: once, and for each block; on the host for each row and entry.
  double setup_latency = 0.0, block_seconds = 0.0, setup_row = 0.0, setup_entry = 0.0;
  double coupled_entry = 0.0;  ///< coupled blocks, for each entry
  /// The matrix from the host to where the probe is: once, and for each byte.
  double transfer_latency = 0.0, transfer_seconds = 0.0;
  /// If a block is larger than that: what an iteration takes more, and the set-up, once and for each entry; the rate of
  /// the inversion. Bytes that take the time of one byte of an inverse, and of one of large blocks that leave a cache.
  index_t large = max_block_size;
  double large_latency = 0.0, large_setup_latency = 0.0, large_entry_seconds = 0.0;
  double large_flops = 1.0, block_bytes = 1.0, large_bytes = 1.0, cache = 0.0;
  /// A look at the matrix: once, for each row and for each entry.
  struct {
    double once = 0.0, row = 0.0, entry = 0.0;
  } look{};
  /// A glance at it, by the device: once, and for each entry.
  struct {
    double once = 0.0, entry = 0.0;
  } glance{};
  double host_threads = 1.0;  ///< that find clusters and set up, if the host does
  /// Clusters: once, for each doubling of their rows, for each entry, for each coupling between nodes, and for each
  /// entry of the renumbered matrix.
  struct {
    double latency = 0.0, doubling = 0.0, entry = 0.0, coupling = 0.0, renumbered = 0.0;
  } clusters{};
  /// A coarse level: once, for each entry with ones or, times the square of their number, relaxed vectors, for each
  /// element of these; for each vector and the rate of the inversion; what an iteration takes more, once, with blocks
  /// above `large` once, and by its bytes.
  struct {
    double start = 0.0, ones_entry = 0.0, relaxed_entry = 0.0, relaxed_element = 0.0;
    double vector = 0.0, flops = 1.0, latency = 0.0, large_latency = 0.0, bytes = 1.0;
  } level{};

  /// A multigrid: once, for each entry, and besides for each entry and each of those of a row; what an iteration takes
  /// more, once, where it takes one launch without, and by the bytes of product and application, in
  /// general and where blocks are single rows.
  struct {
    double start = 0.0, entry = 0.0, entry_of_row = 0.0;
    double latency = 0.0, resident = 0.0, bytes = 1.0, bytes_of_single_rows = 1.0;
  } multigrid_costs{};

  /// Of y = A x, and of z = M^-1 r.
  double product_bytes() const;
  double application_bytes(const BlockShape& blocks) const;
  double iteration_seconds(const BlockShape& blocks) const;
  /// Without the partition.
  double setup_seconds(const BlockShape& blocks) const;
  double coupled_seconds() const { return nnz * coupled_entry / host_threads; }
  /// Clusters of nodes with so many couplings.
  double cluster_seconds(double couplings, index_t max_size) const;
  /// The matrix in another numbering.
  double renumber_seconds() const { return nnz * clusters.renumbered; }
  /// A coarse level of m vectors, k of them relaxed an aggregate (0: ones), on so many blocks: its set-up, and what an
  /// iteration takes more.
  ProbeCost coarse(const BlockShape& blocks, double m, double k) const;
  /// A multigrid on these blocks, as above.
  ProbeCost multigrid(const BlockShape& blocks) const;
  /// Entries between groups of rows of which there are so many.
  double couplings(double groups) const { return nnz * (groups / rows) * (groups / rows); }
  /// suggest() before it probes: the matrix on the host, its partitions, the weights that they capture.
  double look_seconds() const { return look.once + rows * look.row + nnz * look.entry; }
  /// Its symmetry and the signs of its values.
  double glance_seconds() const { return glance.once + nnz * glance.entry; }
  /// Scalar Jacobi without a set-up: checks, the right-hand side, the residual before and after.
  ProbeCost diagonal_probe(const BlockPartition& rows_alone) const;
  /// An iteration of a probe, where one of a solve takes so long.
  double probed_seconds(double iteration) const { return iteration - spared_words * rows * scalar_bytes / bandwidth; }
  /// The matrix brought to the device, so many seconds of set-up, the residual before and after.
  ProbeCost probe(double setup_seconds, double iteration_seconds) const;
};

CostModel cost_model(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                     const SuggestOptions& options);

}  // namespace blockjacobi::detail
