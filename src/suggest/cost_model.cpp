#include "suggest/cost_model.hpp"

namespace blockjacobi::detail {

namespace {

// Host: what a few cores get from memory and cache, the start of the parallel regions of an iteration, and a core's
// rate in the inversion. CUDA: an H200. They weigh set-up and small systems against iterations, no more.
constexpr double host_bandwidth = 20e9, host_latency = 5e-6, host_flops = 3e9;
constexpr double cuda_bandwidth = 3.2e12, cuda_latency = 12e-6, cuda_flops = 1e12;

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
  return latency + (product + application + vector_words * rows * scalar_bytes) / bandwidth;
}

double CostModel::setup_seconds(const BlockPartition& blocks, double passes) const {
  const double bytes = (1.0 + passes) * nnz * (scalar_bytes + 4.0) + block_elements(blocks) * scalar_bytes;
  return latency + bytes / bandwidth + 2.0 * sum_of_powers(blocks, 3) / flops;
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
  model.latency = options.latency > 0.0 ? options.latency : cuda ? cuda_latency : host_latency;
  model.flops = cuda ? cuda_flops : host_flops * backend.threads();
  return model;
}

}  // namespace blockjacobi::detail
