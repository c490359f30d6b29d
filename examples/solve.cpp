// blockjacobi-solve: reads a sparse system from a Matrix Market file, builds a block-Jacobi preconditioner and solves
// with a Krylov method, on CPU threads or a CUDA device. Uses the public headers only; what is beside the calls to the
// library (command line, files, report) lies in the folder solve/.
//
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx --blocks uniform --block-size 8 --rhs ones --threads 1
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx --solver bicgstab --block-size 16
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx --solver gmres --restart 50 --scalar s --rtol 1e-4

#include "solve/block_file.hpp"
#include "solve/linear_system.hpp"
#include "solve/options.hpp"
#include "solve/outcome.hpp"
#include "solve/plot.hpp"
#include "solve/progress.hpp"
#include "solve/report.hpp"
#include "solve/usage_error.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace solve {

using blockjacobi::Backend;
using blockjacobi::BlockJacobi;
using blockjacobi::BlockPartition;
using blockjacobi::ScalarType;
using blockjacobi::SparseMatrix;

namespace {

enum ExitStatus { converged = 0, not_converged = 1, bad_input = 2 };

/// Wall time of `work` in milliseconds, with all that it enqueued.
template <class Work>
double milliseconds(const Backend& backend, Work&& work) {
  backend.synchronize();
  const auto start = std::chrono::steady_clock::now();
  work();
  backend.synchronize();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// With "auto" CUDA if it can be had; else the host, and why.
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

/// The number of vectors that the solver holds at least, with b and x.
double vectors_of(const Options& options, Solver solver, double rows) {
  if (!is_gmres(solver)) return 4.0;
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

/// Everything that costs no memory is checked before the entries are read.
Outcome look_at_input(const Options& options) {
  Outcome outcome;
  outcome.matrix = options.matrix.string();
  outcome.info.header = blockjacobi::read_matrix_market_header(options.matrix);
  const auto& header = outcome.info.header;
  if (header.rows != header.cols)
    throw UsageError(fmt::format("{}: the matrix is {} x {}; a linear system needs a square one", outcome.matrix,
                                 header.rows, header.cols));
  outcome.scalar = choose_scalar(options, header);
  choose_solver(options, outcome);
  require_memory(options, outcome);
  return outcome;
}

template <Scalar T>
CsrMatrix<T> read_matrix(const Options& options, MatrixInfo& info) {
  const auto start = std::chrono::steady_clock::now();
  auto matrix = blockjacobi::read_matrix_market<T>(options.matrix);
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  info.file_bytes = static_cast<double>(std::filesystem::file_size(options.matrix));
  info.nnz = matrix.nnz();
  return matrix;
}

blockjacobi::DetectOptions detect_options(const Options& options) {
  return {.max_size = options.block_size,
          .tolerance = options.block_tolerance,
          .merge = options.blocks == Blocks::coupled ? blockjacobi::Merge::coupled : blockjacobi::Merge::greedy,
          .coupling = options.coupling};
}

/// Blocks of rows as they are numbered, of a matrix on the backend.
template <Scalar T>
BlockPartition partition(const Options& options, const SparseMatrix<T>& A) {
  if (options.blocks == Blocks::uniform) return BlockPartition::uniform(A.rows(), options.block_size);
  if (options.blocks == Blocks::file) return read_block_file(options.block_file, A.rows());
  return BlockPartition::detect(A, detect_options(options));
}

bool renumbers(Blocks blocks) {
  return blocks == Blocks::clusters || blocks == Blocks::metis || blocks == Blocks::labels;
}

/// Blocks of rows that need not be neighbours.
template <Scalar T>
blockjacobi::PermutedPartition permuted_partition(const Options& options, const CsrMatrix<T>& A) {
  if (options.blocks == Blocks::clusters) return BlockPartition::clusters(A, options.block_size);
  if (options.blocks == Blocks::metis) return BlockPartition::metis(A, options.block_size);
  return BlockPartition::from_labels(read_label_file(options.block_file, A.rows()));
}

std::string how(const Options& options) {
  switch (options.blocks) {
    case Blocks::detect: return fmt::format("detect, at most {} rows", options.block_size);
    case Blocks::coupled: return fmt::format("coupled, at most {} rows", options.block_size);
    case Blocks::clusters: return fmt::format("clusters, at most {} rows", options.block_size);
    case Blocks::metis: return fmt::format("metis, at most {} rows", options.block_size);
    case Blocks::uniform: return fmt::format("uniform, {} rows", options.block_size);
    case Blocks::suggest: return "suggest";
    case Blocks::labels: return fmt::format("labels from {}", options.block_file.string());
    case Blocks::file: break;
  }
  return fmt::format("from {}", options.block_file.string());
}

BlocksInfo describe(const BlockPartition& partition, const Options& options, double milliseconds) {
  std::map<index_t, index_t> sizes;
  for (index_t block = 0; block < partition.blocks(); ++block) ++sizes[partition.block_size(block)];
  return {how(options), partition.blocks(), {sizes.begin(), sizes.end()}, milliseconds};
}

blockjacobi::SuggestOptions suggest_options(const Options& options, Solver solver) {
  blockjacobi::SuggestOptions suggest;
  const bool symmetric = solver == Solver::cg || solver == Solver::fcg;
  suggest.method = symmetric ? blockjacobi::Method::cg : blockjacobi::Method::gmres;
  suggest.rtol = options.rtol;
  suggest.restart = options.restart;
  if (options.singular != blockjacobi::SingularPolicy::fail) suggest.singular = options.singular;
  suggest.coarse = false;
  return suggest;
}

template <Scalar T>
auto solver_function(Solver solver) {
  switch (solver) {
    case Solver::cg: return &blockjacobi::cg<T>;
    case Solver::fcg: return &blockjacobi::fcg<T>;
    case Solver::minres: return &blockjacobi::minres<T>;
    case Solver::bicgstab: return &blockjacobi::bicgstab<T>;
    case Solver::gmres: break;
    case Solver::fgmres: return &blockjacobi::fgmres<T>;
    case Solver::richardson: return &blockjacobi::richardson<T>;
  }
  return &blockjacobi::gmres<T>;
}

template <Scalar T>
void solve_with(const Options& options, const BlockJacobi<T>& M, const SparseMatrix<T>& A,
                const blockjacobi::Array<T>& b, blockjacobi::Array<T>& x, Outcome& outcome) {
  ProgressLine line;
  blockjacobi::SolveOptions solve_options;
  solve_options.rtol = options.rtol;
  solve_options.max_iterations = options.max_iterations;
  solve_options.restart = options.restart;
  solve_options.relaxation = options.relaxation;
  solve_options.progress = [&line](const blockjacobi::SolveProgress& progress) {
    line.show(progress);
    return true;
  };
  outcome.solve_ms = milliseconds(A.backend(), [&] {
    outcome.solve = solver_function<T>(outcome.solver)(A, M, b.view(), x.view(), solve_options);
  });
  line.finish();
  outcome.reason = outcome.solve->reason;
  outcome.message = end_message(*outcome.solve, outcome.solver);
}

template <Scalar T>
void warn_about_precision(const Options& options) {
  const double reachable = 10.0 * static_cast<double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  if (options.rtol < reachable)
    warn(fmt::format("--rtol {} is below what scalar {} can reach on most systems (about {:.0e})", options.rtol,
                     to_char(blockjacobi::scalar_type<T>), reachable));
}

/// The rows of a block as the user's matrix numbers them, the first eight of many.
std::string rows_before(const blockjacobi::Permutation& permutation, const blockjacobi::SingularBlock& error) {
  constexpr blockjacobi::index_t most = 8;
  const auto first = permutation.order().begin() + error.first_row();
  return fmt::format("; before renumbering rows {}{}", fmt::join(first, first + std::min(error.size(), most), ", "),
                     error.size() > most ? fmt::format(" and {} more", error.size() - most) : "");
}

/// A x = b, all of it in the numbering in which the blocks of `found` are contiguous.
template <Scalar T>
void set_up_and_solve(const Options& options, const SparseMatrix<T>& A, const blockjacobi::PermutedPartition& found,
                      const std::vector<T>& right_hand_side, const std::vector<T>& guess, Outcome& outcome) {
  const blockjacobi::Array<T> b(A.backend(), right_hand_side);
  blockjacobi::Array<T> x(A.backend(), guess);
  const bool renumbered = !found.permutation.is_identity();
  try {
    std::optional<BlockJacobi<T>> M;
    blockjacobi::BlockJacobiOptions block_options{options.singular, options.storage, options.accuracy, options.l1};
    block_options.profile = true;
    outcome.setup_ms = milliseconds(A.backend(), [&] { M.emplace(A, found.blocks, block_options); });
    outcome.setup = M->report(A);
    if (renumbered) outcome.setup = in_original_rows(std::move(*outcome.setup), found.permutation);
    print_setup(outcome);
    solve_with(options, *M, A, b, x, outcome);
  } catch (const blockjacobi::SingularBlock& error) {
    outcome.reason = blockjacobi::StopReason::singular_block;
    outcome.message = fmt::format("not converged: singular_block: {}", error.what());
    if (renumbered) outcome.message += rows_before(found.permutation, error);
  }
}

/// The way from the file to the solution.
template <Scalar T>
void run(const Options& options, Outcome& outcome) {
  const Backend backend = choose_backend(options, outcome);
  outcome.backend = backend.description();
  const auto matrix = read_matrix<T>(options, outcome.info);
  const std::vector<T> b = right_hand_side(options, matrix);
  const std::vector<T> x = initial_guess<T>(options, matrix.rows());
  print_input(outcome);
  print_solver(outcome, options);
  warn_about_precision<T>(options);

  if (renumbers(options.blocks)) {
    blockjacobi::PermutedPartition found;
    std::optional<blockjacobi::PermutedMatrix<T>> permuted;
    const double ms = milliseconds(backend, [&] {
      found = permuted_partition(options, matrix);
      permuted.emplace(matrix, found.permutation);
    });
    outcome.blocks = describe(found.blocks, options, ms);
    outcome.blocks.renumbered = !found.permutation.is_identity();
    print_partition(outcome.blocks);
    const auto A = SparseMatrix<T>::adopt(backend, permuted->view());
    set_up_and_solve(options, A, found, found.permutation.to_permuted(b), found.permutation.to_permuted(x), outcome);
    return;
  }
  auto A = SparseMatrix<T>::adopt(backend, matrix);
  blockjacobi::PermutedPartition found{blockjacobi::Permutation::identity(matrix.rows()), {}};
  std::optional<blockjacobi::PermutedMatrix<T>> permuted;
  std::optional<blockjacobi::Suggestion> suggestion;
  const double ms = milliseconds(backend, [&] {
    if (options.blocks == Blocks::suggest) {
      suggestion = blockjacobi::suggest(A, suggest_options(options, outcome.solver));
      found = {suggestion->best().permutation, suggestion->best().blocks};
      if (!found.permutation.is_identity())
        A = SparseMatrix<T>::adopt(backend, permuted.emplace(matrix, found.permutation).view());
    } else {
      found.blocks = partition(options, A);
    }
  });
  outcome.blocks = describe(found.blocks, options, ms);
  outcome.blocks.renumbered = !found.permutation.is_identity();
  outcome.blocks.suggestion = std::move(suggestion);
  if (outcome.blocks.suggestion) outcome.blocks.how = "suggested, " + outcome.blocks.suggestion->best().name;
  print_partition(outcome.blocks);
  set_up_and_solve(options, A, found, found.permutation.to_permuted(b), found.permutation.to_permuted(x), outcome);
}

void run_scalar(const Options& options, Outcome& outcome) {
  switch (outcome.scalar) {
    case ScalarType::s: return run<float>(options, outcome);
    case ScalarType::d: return run<double>(options, outcome);
    case ScalarType::c: return run<std::complex<float>>(options, outcome);
    case ScalarType::z: return run<std::complex<double>>(options, outcome);
  }
}

/// What there was no memory for.
std::string too_large(const Options& options, const Outcome& outcome) {
  const auto& header = outcome.info.header;
  const std::string entries =
      outcome.info.nnz > 0 ? fmt::format("{}", outcome.info.nnz) : fmt::format("{} stored", header.entries);
  const std::string vectors =
      is_gmres(outcome.solver) ? fmt::format(" with restart {}", options.restart) : std::string();
  return fmt::format("out of memory: {} has {} rows and {} entries; scalar {}, blocks {}, storage {}, {}{}",
                     outcome.matrix, header.rows, entries, to_char(outcome.scalar), how(options),
                     blockjacobi::to_string(options.storage), to_string(outcome.solver), vectors);
}

void run(const Options& options, Outcome& outcome) {
  try {
    run_scalar(options, outcome);
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(too_large(options, outcome));
  } catch (const std::length_error&) {  // of a vector that no machine holds
    throw std::runtime_error(too_large(options, outcome));
  }
}

ExitStatus run(int argc, char** argv) {
  const auto options = parse_options(argc, argv);
  if (!options) return converged;
  Outcome outcome = look_at_input(*options);
  run(*options, outcome);
  print_end(outcome);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("the standard output cannot be written");
  if (!options->json_file.empty()) write_json(options->json_file, outcome);
  if (!options->history_file.empty()) write_history(options->history_file, outcome);
  if (!options->plot_file.empty()) write_plot(options->plot_file, outcome, options->rtol);
  return outcome.reason == blockjacobi::StopReason::converged ? converged : not_converged;
}

int fail(const char* message) {
  std::fflush(stdout);
  fmt::print(stderr, "{}: error: {}\n", program_name, message);
  return bad_input;
}

}  // namespace
}  // namespace solve

int main(int argc, char** argv) {
  try {
    return solve::run(argc, argv);
  } catch (const std::bad_alloc&) {
    return solve::fail("out of memory");
  } catch (const std::exception& error) {
    return solve::fail(error.what());
  }
}
