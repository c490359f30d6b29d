#include "input.hpp"

#include "counted.hpp"
#include "report.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>

namespace solve {

using blockjacobi::Backend;
using blockjacobi::ScalarType;

namespace {

ScalarType choose_scalar(const Options& options, const blockjacobi::MatrixMarketHeader& header) {
  const bool complex_file = header.field == blockjacobi::MatrixMarketField::complex;
  if (!options.scalar) return complex_file ? ScalarType::z : ScalarType::d;
  const bool real_scalar = *options.scalar == ScalarType::s || *options.scalar == ScalarType::d;
  if (complex_file && real_scalar)
    throw UsageError(fmt::format("--scalar {}: {} holds complex numbers; take c or z", to_char(*options.scalar),
                                 options.matrix.string()));
  return *options.scalar;
}

void choose_solver(const Options& options, Outcome& outcome) {
  using blockjacobi::MatrixMarketSymmetry;
  const auto& header = outcome.info.header;
  const bool complex_file = header.field == blockjacobi::MatrixMarketField::complex;
  if (options.solver) {
    outcome.solver = *options.solver;
    outcome.solver_because = "as asked";
  } else if (header.symmetry == MatrixMarketSymmetry::hermitian ||
             (header.symmetry == MatrixMarketSymmetry::symmetric && !complex_file)) {
    outcome.solver = Solver::cg;
    outcome.solver_because = complex_file ? "the file says hermitian" : "the file says symmetric";
  } else {
    outcome.solver = Solver::gmres;
    outcome.solver_because = complex_file ? "the file does not say hermitian" : "the file does not say symmetric";
  }
}

/// A node of one unknown is none. A coarse level that is asked for without a word of blocks stands on those of detect.
void choose_blocks(Options& options, const blockjacobi::MatrixMarketHeader& header) {
  if (!options.unknowns && header.block_size.value_or(1) > 1) {
    options.unknowns = header.block_size;
    options.unknowns_from_file = true;
  }
  if (options.blocks == Blocks::automatic && options.unknowns) options.blocks = Blocks::supervariables;
  if (options.blocks == Blocks::automatic && options.coarse != Coarse::automatic) options.blocks = Blocks::detect;
  if (!suggests(options.blocks) && options.coarse == Coarse::automatic) options.coarse = Coarse::none;
}

/// The number of vectors that the solver holds at least, with b and x.
double vectors_of(const Options& options, Solver solver, double rows) {
  if (!traits(solver).restarts) return 4.0;
  const double basis =
      std::min({static_cast<double>(options.restart), static_cast<double>(options.max_iterations), rows});
  return (solver == Solver::fgmres ? 2.0 : 1.0) * basis + 3.0;
}

/// A tiny file may announce more rows than the machine can hold. The host's memory is counted, not a device's.
void require_memory(const Options& options, const Outcome& outcome) {
  const double rows = outcome.info.header.rows;
  const bool single = outcome.scalar == ScalarType::s || outcome.scalar == ScalarType::c;
  const bool complex = outcome.scalar == ScalarType::c || outcome.scalar == ScalarType::z;
  const bool on_host = options.backend == blockjacobi::BackendKind::host || !Backend::cuda_available();
  const double vectors = on_host ? vectors_of(options, outcome.solver, rows) : 2.0;
  const double bytes = rows * (sizeof(blockjacobi::offset_t) + vectors * (single ? 4.0 : 8.0) * (complex ? 2.0 : 1.0));
  const double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes > memory)
    throw UsageError(fmt::format(
        "{}:{}: {} rows do not fit in memory: row offsets and {} vectors take {:.1f} GB, the "
        "machine has {:.1f}",
        outcome.matrix, outcome.info.header.size_line, outcome.info.header.rows, vectors, bytes * 1e-9, memory * 1e-9));
}

}  // namespace

Outcome look_at_input(Options& options) {
  Outcome outcome;
  outcome.matrix = options.matrix.string();
  outcome.info.header = blockjacobi::read_matrix_market_header(options.matrix);
  const auto& header = outcome.info.header;
  if (header.rows != header.cols)
    throw UsageError(fmt::format("{}: the matrix is {} x {}; a linear system needs a square one", outcome.matrix,
                                 header.rows, header.cols));
  choose_blocks(options, header);
  if (options.unknowns && header.rows % *options.unknowns != 0)
    throw UsageError(fmt::format("--unknowns {}: {} has {}, no whole number of nodes", *options.unknowns,
                                 outcome.matrix, counted(header.rows, "row")));
  outcome.scalar = choose_scalar(options, header);
  choose_solver(options, outcome);
  require_memory(options, outcome);
  return outcome;
}

Backend choose_backend(const Options& options, Outcome& outcome) {
  if (options.backend == blockjacobi::BackendKind::host) return Backend::host(options.threads);
  try {
    Backend cuda = Backend::cuda();
    if (options.threads > 0) warn("--threads has no effect on the cuda backend");
    return cuda;
  } catch (const blockjacobi::BackendUnavailable& error) {
    if (options.backend) throw;
    outcome.backend_because = error.what();
    return Backend::host(options.threads);
  }
}

}  // namespace solve
