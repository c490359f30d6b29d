#pragma once

#include <blockjacobi/suggest.hpp>

#include <cstddef>

namespace blockjacobi::detail {

/// What the costs of all candidates for one matrix have in common; formulas in <blockjacobi/suggest.hpp>.
struct CostModel {
  double rows = 0.0;
  double nnz = 0.0;
  double scalar_bytes = 8.0;
  double vector_words = 0.0;  ///< a row and iteration, beside product and application
  double bandwidth = 1.0;
  double latency = 0.0;
  double flops = 1.0;  ///< a second, of the inversion
  /// Partition: once, and for each entry in each of its passes.
  double partition_latency = 0.0, entry_seconds = 0.0;
  /// What an iteration takes more if a block is larger than that.
  double large_latency = 0.0;
  index_t large = max_block_size;

  double iteration_seconds(const BlockPartition& blocks) const;
  /// `passes` over the matrix are what the partition costs.
  double setup_seconds(const BlockPartition& blocks, double passes) const;
};

CostModel cost_model(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                     const SuggestOptions& options);

/// Sum of N^2.
double block_elements(const BlockPartition& blocks);

}  // namespace blockjacobi::detail
