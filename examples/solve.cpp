// blockjacobi-solve: reads a sparse system from a Matrix Market file, builds a block-Jacobi preconditioner and solves
// with a Krylov method, on CPU threads or a CUDA device. Uses the public headers only; what is beside the calls to the
// library (command line, files, report) lies in the folder solve/.
//
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx --blocks uniform --block-size 8 --rhs ones --threads 1
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx --solver bicgstab --block-size 16
// sample run: blockjacobi-solve matrices/small/laplace2d_32.mtx --solver gmres --restart 50 --scalar s --rtol 1e-4

#include "solve/compare.hpp"
#include "solve/counted.hpp"
#include "solve/input.hpp"
#include "solve/linear_system.hpp"
#include "solve/options.hpp"
#include "solve/outcome.hpp"
#include "solve/plot.hpp"
#include "solve/report.hpp"
#include "solve/report_files.hpp"
#include "solve/system.hpp"
#include "solve/turns.hpp"
#include "solve/usage_error.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>

namespace solve {

using blockjacobi::ScalarType;

namespace {

enum ExitStatus { converged = 0, not_converged = 1, bad_input = 2 };

template <Scalar T>
CsrMatrix<T> read_matrix(const Options& options, MatrixInfo& info) {
  const auto start = std::chrono::steady_clock::now();
  auto matrix = blockjacobi::read_matrix_market<T>(options.matrix);
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  info.file_bytes = static_cast<double>(std::filesystem::file_size(options.matrix));
  info.nnz = matrix.nnz();
  return matrix;
}

template <Scalar T>
void warn_about_precision(const Options& options) {
  const double reachable = 10.0 * static_cast<double>(std::numeric_limits<blockjacobi::real_t<T>>::epsilon());
  if (options.rtol < reachable)
    warn(fmt::format("--rtol {} is below what scalar {} can reach on most systems (about {:.0e})", options.rtol,
                     to_char(blockjacobi::scalar_type<T>), reachable));
}

/// The way from the file to the solution.
template <Scalar T>
void run(const Options& options, Outcome& outcome) {
  const auto backend = choose_backend(options, outcome);
  outcome.backend = backend.description();
  const auto matrix = read_matrix<T>(options, outcome.info);
  System<T> system(backend, matrix, read_vectors(options, matrix),
                   {.symmetry = stated_symmetry<T>(outcome.info.header), .block_size = options.unknowns});
  print_input(outcome);
  print_solver(outcome, options);
  warn_about_precision<T>(options);
  if (options.compare) {
    compare(options, system, outcome);
    print_comparison(outcome, options);
    return;
  }
  const auto x = Turns<T>(options, system, outcome).solve();
  print_end(outcome.attempt);
  if (options.solution_file.empty()) return;
  if (x)
    blockjacobi::write_matrix_market(options.solution_file, *x);
  else
    warn(fmt::format("--solution {}: there is no solution, nothing is written", options.solution_file.string()));
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
  const std::string entries = outcome.info.nnz > 0 ? counted(outcome.info.nnz, "entry", "entries")
                                                   : counted(header.entries, "stored entry", "stored entries");
  const std::string vectors =
      traits(outcome.solver).restarts ? fmt::format(" with restart {}", options.restart) : std::string();
  return fmt::format("out of memory: {} has {} and {}; scalar {}, blocks {}, storage {}, {}{}", outcome.matrix,
                     counted(header.rows, "row"), entries, to_char(outcome.scalar), how(options),
                     blockjacobi::to_string(options.storage), traits(outcome.solver).name, vectors);
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
  auto options = parse_options(argc, argv);
  if (!options) return converged;
  Outcome outcome = look_at_input(*options);
  run(*options, outcome);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw std::runtime_error("the standard output cannot be written");
  if (!options->json_file.empty()) write_json(options->json_file, outcome);
  if (!options->history_file.empty()) write_history(options->history_file, outcome);
  if (!options->plot_file.empty()) write_plot(options->plot_file, outcome, options->rtol);
  return outcome.attempt.reason == blockjacobi::StopReason::converged ? converged : not_converged;
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
