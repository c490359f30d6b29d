#include "suggest/cost_model.hpp"

#include "core/shared/tiny_order.hpp"

#include <algorithm>

namespace blockjacobi::detail {

namespace {

// Host, estimates: what a core gets from memory and cache and how many cores it takes to get all there is, the start of
// the parallel regions of an iteration, and a core's rate in the inversion.
constexpr double host_bandwidth = 20e9, host_latency = 5e-6, host_flops = 3e9;
constexpr int host_bandwidth_threads = 3;
// What the first probe does on the host before it iterates, a random vector and the checks of the matrix: once, for
// each row, and for each entry.
constexpr double host_probe_latency = 40e-6, host_probe_row_seconds = 20e-9, host_probe_entry_seconds = 1.2e-9;
// CUDA: measured on an H200 over the systems of benchmarks/results/suggest-h200.md, most of which are in its cache, and
// of benchmarks/results/h200/solve.json. An iteration of CG takes 9.5 us and one of GMRES 25 us however small the
// system is, and more for each row of a block; blocks of more than 32 rows are not applied by the kernels of the
// iteration itself. A solve takes 0.2 ms (GMRES: 0.85) before it iterates, a set-up 0.12 ms, 10 ns a block, and with
// large blocks, whose pattern is analysed on the host, 0.2 ms and 2.3 ns an entry.
constexpr double cuda_bandwidth = 3.2e12, cuda_flops = 1e12;
struct IterationLatency {
  double all, row, large;
};
constexpr IterationLatency cuda_cg{9.5e-6, 51e-9, 12.3e-6}, cuda_gmres{25e-6, 23e-9, 3.2e-6};
constexpr double cuda_setup_latency = 0.12e-3, cuda_cg_start = 0.2e-3, cuda_gmres_start = 0.85e-3;
constexpr double cuda_block_seconds = 10e-9, cuda_large_setup_latency = 0.2e-3, cuda_large_entry_seconds = 2.3e-9;
constexpr double cuda_partition_latency = 0.08e-3, cuda_entry_seconds = 0.1e-9;
constexpr double cuda_transfer_latency = 50e-6, cuda_transfer_seconds = 0.08e-9;

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
  const index_t order = blocks.largest_block();
  const double start = latency + (order > large ? large_latency : row_latency * order);
  return start + (product + application + vector_words * rows * scalar_bytes) / bandwidth;
}

double CostModel::setup_seconds(const BlockPartition& blocks, double passes) const {
  const double bytes = nnz * (scalar_bytes + 4.0) + block_elements(blocks) * scalar_bytes;
  const double analysis = block_seconds * blocks.blocks() +
                          (blocks.largest_block() > large ? large_setup_latency + nnz * large_entry_seconds : 0.0);
  const double partition = passes > 0.0 ? partition_latency + passes * nnz * entry_seconds : 0.0;
  return setup_latency + analysis + bytes / bandwidth + 2.0 * sum_of_powers(blocks, 3) / flops + partition;
}

ProbeCost CostModel::diagonal_probe(const BlockPartition& rows_alone) const {
  const double iteration = iteration_seconds(rows_alone);
  const double checks = host_probe_latency + rows * host_probe_row_seconds + nnz * host_probe_entry_seconds;
  return {checks + 3.0 * iteration, iteration};
}

ProbeCost CostModel::probe(const BlockCandidate& candidate) const {
  const double matrix_bytes = nnz * (scalar_bytes + 4.0) + 8.0 * (rows + 1.0);
  return {
      transfer_latency + matrix_bytes * transfer_seconds + candidate.setup_seconds + 2.0 * candidate.iteration_seconds,
      candidate.iteration_seconds};
}

CostModel cost_model(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                     const SuggestOptions& options) {
  const bool cuda = backend.kind() == BackendKind::cuda;
  CostModel model;
  model.rows = rows;
  model.nnz = static_cast<double>(nnz);
  model.scalar_bytes = static_cast<double>(scalar_bytes);
  model.vector_words = options.method == Method::cg ? 8.0 : 1.5 * (options.restart + 1.0) + 6.0;
  const bool cg = options.method == Method::cg;
  const double host = host_bandwidth * std::min(backend.threads(), host_bandwidth_threads);
  model.bandwidth = options.bandwidth > 0.0 ? options.bandwidth : cuda ? cuda_bandwidth : host;
  const IterationLatency device = cg ? cuda_cg : cuda_gmres;
  model.latency = options.latency > 0.0 ? options.latency : cuda ? device.all : host_latency;
  model.setup_latency = cuda ? cuda_setup_latency + (cg ? cuda_cg_start : cuda_gmres_start) : model.latency;
  model.flops = cuda ? cuda_flops : host_flops * backend.threads();
  model.entry_seconds = cuda ? cuda_entry_seconds : (model.scalar_bytes + 4.0) / model.bandwidth;
  if (!cuda) return model;
  model.row_latency = device.row;
  model.block_seconds = cuda_block_seconds;
  model.partition_latency = cuda_partition_latency;
  model.transfer_latency = cuda_transfer_latency;
  model.transfer_seconds = cuda_transfer_seconds;
  model.large = detail::largest_tiny_order;
  model.large_latency = device.large;
  model.large_setup_latency = cuda_large_setup_latency;
  model.large_entry_seconds = cuda_large_entry_seconds;
  return model;
}

}  // namespace blockjacobi::detail
