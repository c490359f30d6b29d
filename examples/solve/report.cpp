#include "report.hpp"

#include "advice.hpp"
#include "counted.hpp"
#include "suggested.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <sstream>
#include <variant>

namespace solve {

namespace {

constexpr int label_width = 10;

/// The commonest sizes first: "400 of 3 rows, 12 of 24 rows and 9 other sizes".
std::string histogram(std::vector<std::pair<index_t, index_t>> sizes) {
  if (sizes.empty()) return "no rows";
  constexpr std::size_t shown = 5;
  std::stable_sort(sizes.begin(), sizes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [rows, count] : sizes)
    if (parts.size() < shown) parts.push_back(fmt::format("{} of {}", count, rows));
  const std::size_t others = sizes.size() - parts.size();
  return fmt::format("{} row{}{}", fmt::join(parts, ", "), sizes.size() == 1 && sizes[0].first == 1 ? "" : "s",
                     others > 0 ? " and " + counted(others, "other size") : "");
}

std::string how_it_ended(const blockjacobi::SolveReport& report) {
  const auto iterations = counted(report.iterations, "iteration");
  if (report.converged()) return fmt::format("converged after {}", iterations);
  return fmt::format("not converged: {} after {}", blockjacobi::to_string(report.reason), iterations);
}

}  // namespace

const char* to_string(blockjacobi::MatrixMarketField field) noexcept {
  switch (field) {
    case blockjacobi::MatrixMarketField::real: return "real";
    case blockjacobi::MatrixMarketField::integer: return "integer";
    case blockjacobi::MatrixMarketField::pattern: return "pattern";
    case blockjacobi::MatrixMarketField::complex: return "complex";
  }
  return "?";
}

const char* to_string(blockjacobi::MatrixMarketSymmetry symmetry) noexcept {
  switch (symmetry) {
    case blockjacobi::MatrixMarketSymmetry::general: return "general";
    case blockjacobi::MatrixMarketSymmetry::symmetric: return "symmetric";
    case blockjacobi::MatrixMarketSymmetry::skew_symmetric: return "skew-symmetric";
    case blockjacobi::MatrixMarketSymmetry::hermitian: return "hermitian";
  }
  return "?";
}

void print_labelled(const char* label, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); label = "") fmt::print("{:<{}}{}\n", label, label_width, line);
  std::fflush(stdout);
}

void print_input(const Outcome& outcome) {
  const auto& [header, nnz, seconds, file_bytes] = outcome.info;
  const bool packed = outcome.matrix.ends_with(".gz");
  print_labelled(
      "matrix",
      fmt::format("{}\n{} x {}, {}, {} {}, read in {:.3f} s ({:.0f} MB/s{})", outcome.matrix, header.rows, header.cols,
                  counted(nnz, "entry", "entries"), to_string(header.field), to_string(header.symmetry), seconds,
                  file_bytes / 1e6 / std::max(seconds, 1e-9), packed ? " of the packed file" : ""));
  print_labelled("scalar", fmt::format("{}", to_char(outcome.scalar)));
  const std::string because = outcome.backend_because.empty() ? "" : "\n" + outcome.backend_because;
  print_labelled("backend", outcome.backend + because);
}

std::string solver_name(Solver solver, const Options& options) {
  std::string name = traits(solver).name;
  if (traits(solver).restarts) name += fmt::format("({})", options.restart);
  if (solver == Solver::richardson) name += fmt::format(", relaxation {}", options.relaxation);
  return name;
}

void print_solver(const Outcome& outcome, const Options& options) {
  print_labelled("solver",
                 fmt::format("{} ({}), rtol {}, at most {}", solver_name(outcome.solver, options),
                             outcome.solver_because, options.rtol, counted(options.max_iterations, "iteration")));
}

void print_partition(const BlocksInfo& blocks, const Options& options) {
  const bool shows_all = options.blocks == Blocks::suggest;
  if (shows_all) print_labelled("suggest", to_text(*blocks.suggestion));
  if (blocks.suggestion && (!shows_all || !is_recommendation(*blocks.suggestion)))
    print_labelled("suggest", reason(blocks));
  print_labelled("blocks", fmt::format("{}: {}, {}{} ({:.1f} ms)", blocks.how, counted(blocks.blocks, "block"),
                                       histogram(blocks.sizes), blocks.renumbered ? ", rows renumbered" : "",
                                       blocks.milliseconds));
}

void print_setup(const Attempt& attempt) {
  const auto& setup = *attempt.setup;
  print_labelled("set-up", fmt::format("{:.1f} ms\n{}", attempt.setup_ms, blockjacobi::to_text(setup)));
  if (attempt.coarse)
    print_labelled("coarse", fmt::format("{} ({:.1f} ms)\n{}", attempt.coarse->how, attempt.coarse->milliseconds,
                                         std::visit([](const auto& report) { return blockjacobi::to_text(report); },
                                                    attempt.coarse->report)));
  if (setup.unsuited_blocks > 0)
    warn(fmt::format("{} storage loses a row or column of the inverses of {} of {} (first: block {}); take another",
                     blockjacobi::to_string(setup.storage), setup.unsuited_blocks, counted(setup.blocks, "block"),
                     setup.first_unsuited));
  if (setup.defects.empty()) return;
  warn(fmt::format("{} of {} could not be inverted: replaced by {} (first: {}); see the set-up report",
                   setup.defects.size(), counted(setup.blocks, "block"), blockjacobi::to_string(setup.policy),
                   blockjacobi::describe(setup.defects.front())));
}

void print_end(const Attempt& attempt) {
  const auto& columns = attempt.columns;
  for (std::size_t k = 0; columns.size() > 1 && k < columns.size(); ++k)
    print_labelled(k == 0 ? "columns" : "",
                   fmt::format("{}: {}, {:.1f} ms, relative residual {:.3e}", k + 1, how_it_ended(columns[k].report),
                               columns[k].milliseconds, columns[k].report.relative_residual()));
  if (const ColumnSolve* solve = attempt.worst_column()) {
    const auto& report = solve->report;
    const std::string which = columns.size() > 1 ? fmt::format("column {}: ", attempt.worst + 1) : "";
    const double per_iteration = solve->milliseconds / std::max(1, report.iterations);
    print_labelled("solve",
                   fmt::format("{}{:.1f} ms, {:.4f} ms an iteration", which, solve->milliseconds, per_iteration));
    print_labelled("residual",
                   fmt::format("{}||b - A x|| = {:.3e}, ||b|| = {:.3e}, relative {:.3e} (recomputed from x)", which,
                               report.true_residual, report.rhs_norm, report.relative_residual()));
  }
  print_labelled("outcome", attempt.message);
}

void warn(const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "{}: warning: {}\n", program_name, message);
}

std::string end_message(const blockjacobi::SolveReport& report, Solver solver, const Options& options) {
  return how_it_ended(report) + (report.converged() ? "" : advice(report, solver, options));
}

}  // namespace solve
