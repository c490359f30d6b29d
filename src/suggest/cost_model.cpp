#include "suggest/cost_model.hpp"

#include "core/shared/tiny_order.hpp"

#include <algorithm>
#include <cmath>

namespace blockjacobi::detail {

namespace {

// Host, measured on one core over the systems of benchmarks/results/suggest-host.md: what a core gets from memory and
// cache and how many cores it takes to get all there is, the start of the parallel regions of an iteration, and a
// core's rate in the inversion. A set-up checks the pattern and sorts out its blocks: once, for each row, and for each
// entry.
constexpr double host_bandwidth = 20e9, host_latency = 5e-6, host_flops = 7e9;
constexpr int host_bandwidth_threads = 3;
constexpr double host_setup_latency = 30e-6, host_setup_row_seconds = 25e-9, host_setup_entry_seconds = 3.5e-9;
constexpr double host_coupled_entry_seconds = 8e-9;
// Words of an iteration of GMRES, a row and vector of the basis.
constexpr double host_basis_words = 2.5, cuda_basis_words = 1.5;
// What the first probe does on the host before it iterates, a random vector and the checks of the matrix: once, for
// each row, and for each entry.
constexpr double host_probe_latency = 40e-6, host_probe_row_seconds = 20e-9, host_probe_entry_seconds = 1.2e-9;
// CUDA: measured on an H200 over the systems of benchmarks/results/suggest-h200.md, most of which are in its cache, and
// of benchmarks/results/h200/solve.json. An iteration of CG takes 9.5 us and one of GMRES 25 us however small the
// system is, and more for each row of a block; blocks of more than 32 rows are not applied by the kernels of the
// iteration itself. A solve takes 0.2 ms (GMRES: 0.85) before it iterates, a set-up 0.12 ms and 10 ns a block.
//
// And over those of benchmarks/results/suggest-h100-80gb-hbm3.md: where the iterations of a solve are one launch
// (kernels/krylov/policy.hpp) and the blocks have at most 32 rows, one of CG takes 5.5 us, one of GMRES 12.5, and GMRES
// begins after 0.15 ms. With large blocks the set-up and the start of the solve take 1.6 ms more and 2.3 ns an entry.
// On that record the model was off by 1.5 (CG) and 2.2 (GMRES) in the median before, and is by 1.05, fitted to it.
constexpr double cuda_bandwidth = 3.2e12, cuda_flops = 1e12;
struct IterationLatency {
  double all, row, large;
};
constexpr IterationLatency cuda_cg{9.5e-6, 51e-9, 12.3e-6}, cuda_gmres{25e-6, 23e-9, 15.6e-6};
constexpr IterationLatency cuda_resident_cg{5.5e-6, 21e-9, 0.0}, cuda_resident_gmres{12.5e-6, 45e-9, 0.0};
constexpr double cuda_setup_latency = 0.12e-3, cuda_cg_start = 0.2e-3, cuda_gmres_start = 0.85e-3,
                 cuda_resident_gmres_start = 0.15e-3;
constexpr double cuda_block_seconds = 10e-9, cuda_large_setup_latency = 1.6e-3, cuda_large_entry_seconds = 2.3e-9;
// What suggest() takes beside its probes there, by the same record.
constexpr double cuda_look_latency = 0.25e-3, cuda_look_row_seconds = 61e-9, cuda_look_entry_seconds = 4.8e-9;
// And what the device takes for its symmetry and the signs of its values, by the 7-point stencil on an H200.
constexpr double cuda_glance_latency = 0.2e-3, cuda_glance_entry_seconds = 0.05e-9;
constexpr double cuda_transfer_latency = 50e-6, cuda_transfer_seconds = 0.08e-9;

// On the host a byte of the inverses, which are read in a row, takes half the time of another; where blocks are large
// and leave the cache of a core, twice that time. And a core's rate in the inversion of large blocks.
constexpr double host_large_flops = 20e9, host_block_bytes = 0.5, host_large_bytes = 2.0, host_cache = 2e6;
// Clusters: for each entry and for each coupling between nodes on a core; and for each entry of the renumbered matrix.
constexpr double cluster_entry_seconds = 31e-9, cluster_coupling_seconds = 150e-9, renumber_entry_seconds = 12e-9;
// A coarse level: for each entry with ones and, times the square of their number, with relaxed vectors; the iterations
// that these take; what the bytes of an iteration take of the time of others; a core's rate in the one inversion.
constexpr double ones_entry_seconds = 55e-9, relaxed_entry_seconds = 6.5e-9, relaxing_iterations = 15.0;
constexpr double coarse_bytes = 0.65, coarse_flops = 35e9;
// On CUDA, by the 7-point stencil on 64^3 and 128^3 points on an H100, and by small systems there: clusters once, for
// each doubling of their rows, and for each entry, and the renumbered matrix; the set-up of a coarse level once, for
// each entry, and for each element of relaxed vectors, which go by way of the host; its matrix for each vector and the
// rate of its inversion; an iteration.
constexpr double cuda_cluster_latency = 0.46e-3, cuda_cluster_doubling_seconds = 0.19e-3,
                 cuda_cluster_entry_seconds = 0.62e-9, cuda_renumber_entry_seconds = 0.09e-9;
constexpr double cuda_coarse_start = 2.5e-3, cuda_ones_entry_seconds = 0.23e-9, cuda_relaxed_entry_seconds = 0.05e-9,
                 cuda_relaxed_element_seconds = 5e-9;
constexpr double cuda_coarse_vector_seconds = 1.6e-6, cuda_coarse_flops = 25e12;
constexpr double cuda_coarse_latency = 12e-6, cuda_coarse_bytes = 0.75;
// Where CG and GMRES take one launch with both levels (kernels/krylov/policy.hpp), on ten systems on an H100: 13.5 to
// 16 us an iteration of CG where one without takes 6.5 to 9, of GMRES 19 to 24 in place of 11 to 15.
constexpr double cuda_resident_coarse_latency = 6e-6, cuda_resident_rows = 135e3, cuda_resident_bytes = 21e6;
constexpr index_t cuda_longest_resident = 64;  ///< restart of GMRES
// A multigrid on the host, on one core over the diffusions of tests and benchmarks and the 7-point stencil on 32^3 to
// 96^3 points: coefficients that vary or depend on the direction take up to four times the set-up; a cycle takes
// longer with blocks of single rows than with larger ones. On CUDA by the 7-point stencil on 64^3 and 128^3 points on
// an H200.
constexpr double multigrid_start = 1e-3, multigrid_entry_seconds = 230e-9, multigrid_entry_of_row_seconds = 3e-9;
constexpr double multigrid_latency = 5e-6, multigrid_bytes = 4.2, multigrid_bytes_of_single_rows = 7.5;
constexpr double cuda_multigrid_start = 3.8e-3, cuda_multigrid_entry_seconds = 0.73e-9;
constexpr double cuda_multigrid_latency = 65e-6, cuda_multigrid_bytes = 2.8;
/// Rows of a cluster on average, over its most.
constexpr double cluster_fill = 0.85;

}  // namespace

BlockShape::BlockShape(const BlockPartition& partition)
    : blocks(partition.blocks()), largest(partition.largest_block()) {
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const double size = partition.block_size(b);
    squares += size * size;
    cubes += size * size * size;
  }
}

BlockShape BlockShape::of_rows(double rows) {
  BlockShape shape;
  shape.blocks = shape.squares = shape.cubes = rows;
  shape.largest = 1;
  return shape;
}

BlockShape BlockShape::of_clusters(double rows, index_t max_size) {
  const double size = cluster_fill * max_size;
  BlockShape shape;
  shape.blocks = rows / size;
  shape.squares = rows * size;
  shape.cubes = rows * size * size;
  shape.largest = max_size;
  return shape;
}

double CostModel::product_bytes() const {
  return nnz * (scalar_bytes + 4.0) + 8.0 * (rows + 1.0) + 2.0 * rows * scalar_bytes;
}

double CostModel::application_bytes(const BlockShape& blocks) const {
  const bool leaves_cache = blocks.largest > large && blocks.squares * scalar_bytes > cache * host_threads;
  return ((leaves_cache ? large_bytes : block_bytes) * blocks.squares + 2.0 * rows) * scalar_bytes;
}

double CostModel::iteration_seconds(const BlockShape& blocks) const {
  const double start = latency + (blocks.largest > large ? large_latency : row_latency * blocks.largest);
  return start + (product_bytes() + application_bytes(blocks) + vector_words * rows * scalar_bytes) / bandwidth;
}

double CostModel::cluster_seconds(double couplings, index_t max_size) const {
  return clusters.latency + std::log2(max_size) * clusters.doubling +
         (nnz * clusters.entry + couplings * clusters.coupling) / host_threads;
}

double CostModel::setup_seconds(const BlockShape& blocks) const {
  const bool is_large = blocks.largest > large;
  const double bytes = nnz * (scalar_bytes + 4.0) + blocks.squares * scalar_bytes;
  const double analysis = block_seconds * blocks.blocks + (rows * setup_row + nnz * setup_entry) / host_threads +
                          (is_large ? large_setup_latency + nnz * large_entry_seconds : 0.0);
  return setup_latency + analysis + bytes / bandwidth + 2.0 * blocks.cubes / (is_large ? large_flops : flops);
}

ProbeCost CostModel::coarse(const BlockShape& blocks, double m, double k) const {
  const double entry = k > 0.0 ? k * k * level.relaxed_entry : level.ones_entry;
  const double aggregation = couplings(blocks.blocks) * clusters.coupling / host_threads;
  const double relaxation = k * (relaxing_iterations * iteration_seconds(blocks) + rows * level.relaxed_element);
  const double inversion = m * level.vector + 2.0 * m * m * m / level.flops;
  const double transfers = 2.0 * rows * std::max(1.0, k) * (scalar_bytes + 4.0) + m * m * scalar_bytes;
  return {level.start + nnz * entry + aggregation + relaxation + inversion,
          (blocks.largest > large ? level.large_latency : level.latency) +
              level.bytes * (product_bytes() + transfers) / bandwidth};
}

ProbeCost CostModel::multigrid(const BlockShape& blocks) const {
  const auto& costs = multigrid_costs;
  const double entry = costs.entry + costs.entry_of_row * nnz / std::max(1.0, rows);
  return {costs.start + nnz * entry / host_threads,
          costs.latency + (blocks.largest > large ? 0.0 : costs.resident) +
              (blocks.largest > 1 ? costs.bytes : costs.bytes_of_single_rows) *
                  (product_bytes() + application_bytes(blocks)) / bandwidth};
}

ProbeCost CostModel::diagonal_probe(const BlockPartition& rows_alone) const {
  const double iteration = probed_seconds(iteration_seconds(rows_alone));
  const double checks = host_probe_latency + rows * host_probe_row_seconds + nnz * host_probe_entry_seconds;
  return {checks + 3.0 * iteration, iteration};
}

ProbeCost CostModel::probe(double setup, double iteration) const {
  iteration = probed_seconds(iteration);
  const double matrix_bytes = nnz * (scalar_bytes + 4.0) + 8.0 * (rows + 1.0);
  return {transfer_latency + matrix_bytes * transfer_seconds + setup + 2.0 * iteration, iteration};
}

CostModel cost_model(const Backend& backend, index_t rows, offset_t nnz, std::size_t scalar_bytes,
                     const SuggestOptions& options) {
  const bool cuda = backend.kind() == BackendKind::cuda;
  CostModel model;
  model.rows = rows;
  model.nnz = static_cast<double>(nnz);
  model.scalar_bytes = static_cast<double>(scalar_bytes);
  const bool cg = options.method == Method::cg;
  const double basis = (cuda ? cuda_basis_words : host_basis_words) * (options.restart + 1.0);
  model.vector_words = cg ? 8.0 : basis + 6.0;
  model.spared_words = cg ? 0.0 : (1.0 - probed_part) * basis;
  const double host = host_bandwidth * std::min(backend.threads(), host_bandwidth_threads);
  model.bandwidth = options.bandwidth > 0.0 ? options.bandwidth : cuda ? cuda_bandwidth : host;
  const bool resides = cuda && (cg || options.restart <= cuda_longest_resident) && rows <= cuda_resident_rows &&
                       model.nnz * (model.scalar_bytes + 4.0) <= cuda_resident_bytes;
  const IterationLatency phases = cg ? cuda_cg : cuda_gmres;
  const IterationLatency device = !resides ? phases : cg ? cuda_resident_cg : cuda_resident_gmres;
  model.latency = options.latency > 0.0 ? options.latency : cuda ? device.all : host_latency;
  const double cuda_start = cg ? cuda_cg_start : resides ? cuda_resident_gmres_start : cuda_gmres_start;
  model.setup_latency = cuda ? cuda_setup_latency + cuda_start : host_setup_latency;
  model.flops = cuda ? cuda_flops : host_flops * backend.threads();
  model.host_threads = cuda ? 1.0 : std::min(backend.threads(), host_bandwidth_threads);
  model.large = detail::largest_tiny_order;
  model.large_flops = cuda ? cuda_flops : host_large_flops * backend.threads();
  if (!cuda) {
    model.setup_row = host_setup_row_seconds;
    model.setup_entry = host_setup_entry_seconds;
    model.coupled_entry = host_coupled_entry_seconds;
    model.block_bytes = host_block_bytes;
    model.large_bytes = host_large_bytes;
    model.cache = host_cache;
  }
  model.clusters = {0.0, 0.0, cluster_entry_seconds, cluster_coupling_seconds, renumber_entry_seconds};
  model.level = {0.0, ones_entry_seconds, relaxed_entry_seconds, 0.0, 0.0, coarse_flops * backend.threads(), 0.0,
                 0.0, coarse_bytes};
  model.multigrid_costs = {
      multigrid_start, multigrid_entry_seconds,       multigrid_entry_of_row_seconds, multigrid_latency, 0.0,
      multigrid_bytes, multigrid_bytes_of_single_rows};
  if (!cuda) return model;
  model.clusters = {cuda_cluster_latency, cuda_cluster_doubling_seconds, cuda_cluster_entry_seconds, 0.0,
                    cuda_renumber_entry_seconds};
  model.level = {cuda_coarse_start,
                 cuda_ones_entry_seconds,
                 cuda_relaxed_entry_seconds,
                 cuda_relaxed_element_seconds,
                 cuda_coarse_vector_seconds,
                 cuda_coarse_flops,
                 resides ? cuda_resident_coarse_latency : cuda_coarse_latency,
                 cuda_coarse_latency,
                 cuda_coarse_bytes};
  const double beside_launch = options.latency > 0.0 ? 0.0 : phases.all - device.all;
  model.multigrid_costs = {
      cuda_multigrid_start, cuda_multigrid_entry_seconds, 0.0, cuda_multigrid_latency, beside_launch,
      cuda_multigrid_bytes, cuda_multigrid_bytes};
  model.look = {cuda_look_latency, cuda_look_row_seconds, cuda_look_entry_seconds};
  model.glance = {cuda_glance_latency, cuda_glance_entry_seconds};
  model.row_latency = device.row;
  model.block_seconds = cuda_block_seconds;
  model.transfer_latency = cuda_transfer_latency;
  model.transfer_seconds = cuda_transfer_seconds;
  model.large_latency = phases.large + beside_launch;
  model.large_setup_latency = cuda_large_setup_latency;
  model.large_entry_seconds = cuda_large_entry_seconds;
  return model;
}

}  // namespace blockjacobi::detail
