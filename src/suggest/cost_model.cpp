#include "suggest/cost_model.hpp"

namespace blockjacobi::detail {

namespace {

// Host: what a few cores get from memory and cache, the start of the parallel regions of an iteration, and a core's
// rate in the inversion. They weigh set-up and small systems against iterations, no more.
constexpr double host_bandwidth = 20e9, host_latency = 5e-6, host_flops = 3e9;
// CUDA: an H200, from benchmarks/results/h200/solve.json. Small systems take 10 us an iteration of CG and 28 of GMRES
// whatever their blocks of order up to 32 are; larger ones are not applied by the kernels of the iteration itself.
constexpr double cuda_bandwidth = 3.2e12, cuda_cg_latency = 10e-6, cuda_gmres_latency = 28e-6, cuda_flops = 1e12;
constexpr double cuda_large_latency = 5e-6, cuda_partition_latency = 0.2e-3, cuda_entry_seconds = 4e-9;
constexpr index_t cuda_large = 32;

double sum_of_powers(const BlockPartition& blocks, int power) {
  double sum = 0.0;
  for (index_t b = 0; b < blocks.blocks(); ++b) {
    const double size = blocks.block_size(b);
    sum += power == 2 ? size * size : size * size * size;
  }
  return sum;
}

}  // namespace

double block_elements(const BlockPartition& blocks) { return sum_of_powers(blocks, 2); }

double CostModel::iteration_seconds(const BlockPartition& blocks) const {
  const double product = nnz * (scalar_bytes + 4.0) + 8.0 * (rows + 1.0) + 2.0 * rows * scalar_bytes;
  const double application = (block_elements(blocks) + 2.0 * rows) * scalar_bytes;
  const double start = latency + (blocks.largest_block() > large ? large_latency : 0.0);
  return start + (product + application + vector_words * rows * scalar_bytes) / bandwidth;
}

double CostModel::setup_seconds(const BlockPartition& blocks, double passes) const {
  const double bytes = nnz * (scalar_bytes + 4.0) + block_elements(blocks) * scalar_bytes;
  const double partition = passes > 0.0 ? partition_latency + passes * nnz * entry_seconds : 0.0;
  return latency + bytes / bandwidth + 2.0 * sum_of_powers(blocks, 3) / flops + partition;
}

CostModel cost_model(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                     const SuggestOptions& options) {
  const bool cuda = backend.kind() == BackendKind::cuda;
  CostModel model;
  model.rows = rows;
  model.nnz = static_cast<double>(nnz);
  model.scalar_bytes = static_cast<double>(scalar_bytes);
  model.vector_words = options.method == Method::cg ? 8.0 : 1.5 * (options.restart + 1.0) + 6.0;
  model.bandwidth = options.bandwidth > 0.0 ? options.bandwidth : cuda ? cuda_bandwidth : host_bandwidth;
  const double cuda_latency = options.method == Method::cg ? cuda_cg_latency : cuda_gmres_latency;
  model.latency = options.latency > 0.0 ? options.latency : cuda ? cuda_latency : host_latency;
  model.flops = cuda ? cuda_flops : host_flops * backend.threads();
  model.entry_seconds = cuda ? cuda_entry_seconds : (model.scalar_bytes + 4.0) / model.bandwidth;
  if (cuda) {
    model.large = cuda_large;
    model.large_latency = cuda_large_latency;
    model.partition_latency = cuda_partition_latency;
  }
  return model;
}

}  // namespace blockjacobi::detail
