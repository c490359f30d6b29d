#pragma once

#include <blockjacobi/suggest.hpp>

#include <cstddef>

namespace blockjacobi::detail {

/// What a probe is expected to take, in seconds.
struct ProbeCost {
  double start = 0.0;
  double iteration = 0.0;
};

/// What the costs of all candidates for one matrix have in common; formulas in <blockjacobi/suggest.hpp>.
struct CostModel {
  double rows = 0.0;
  double nnz = 0.0;
  double scalar_bytes = 8.0;
  double vector_words = 0.0;  ///< a row and iteration, beside product and application
  double bandwidth = 1.0;
  double latency = 0.0;      ///< of an iteration
  double row_latency = 0.0;  ///< what it takes more for each row of the largest block
  double flops = 1.0;        ///< a second, of the inversion
  /// Set-up and the start of the solver: once, and for each block.
  double setup_latency = 0.0, block_seconds = 0.0;
  /// Partition: once, and for each entry in each of its passes.
  double partition_latency = 0.0, entry_seconds = 0.0;
  /// The matrix from the host to where the probe is: once, and for each byte.
  double transfer_latency = 0.0, transfer_seconds = 0.0;
  /// If a block is larger than that: what an iteration takes more, and the set-up, once and for each entry.
  index_t large = max_block_size;
  double large_latency = 0.0, large_setup_latency = 0.0, large_entry_seconds = 0.0;

  double iteration_seconds(const BlockPartition& blocks) const;
  /// `passes` over the matrix are what the partition costs.
  double setup_seconds(const BlockPartition& blocks, double passes) const;
  /// Scalar Jacobi without a set-up: checks, the right-hand side, the residual before and after.
  ProbeCost diagonal_probe(const BlockPartition& rows_alone) const;
  /// The matrix brought to the device, set-up, the residual before and after.
  ProbeCost probe(const BlockCandidate& candidate) const;
};

CostModel cost_model(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                     const SuggestOptions& options);

/// Sum of N^2.
double block_elements(const BlockPartition& blocks);

}  // namespace blockjacobi::detail
