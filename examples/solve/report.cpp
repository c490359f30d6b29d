#include "report.hpp"

#include "usage_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace solve {

using blockjacobi::StopReason;

namespace {

const char* to_string(blockjacobi::MatrixMarketField field) {
  switch (field) {
    case blockjacobi::MatrixMarketField::real: return "real";
    case blockjacobi::MatrixMarketField::integer: return "integer";
    case blockjacobi::MatrixMarketField::pattern: return "pattern";
    case blockjacobi::MatrixMarketField::complex: return "complex";
  }
  return "?";
}

const char* to_string(blockjacobi::MatrixMarketSymmetry symmetry) {
  switch (symmetry) {
    case blockjacobi::MatrixMarketSymmetry::general: return "general";
    case blockjacobi::MatrixMarketSymmetry::symmetric: return "symmetric";
    case blockjacobi::MatrixMarketSymmetry::skew_symmetric: return "skew-symmetric";
    case blockjacobi::MatrixMarketSymmetry::hermitian: return "hermitian";
  }
  return "?";
}

constexpr int label_width = 10;

/// Text under a label in the left column; further lines are indented as far.
void print_labelled(const char* label, const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line); label = "") fmt::print("{:<{}}{}\n", label, label_width, line);
  std::fflush(stdout);
}

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
                     others > 0 ? fmt::format(" and {} other sizes", others) : "");
}

/// What the user may change after this end.
const char* advice(StopReason reason, Solver solver) {
  switch (reason) {
    case StopReason::max_iterations: return "; raise --max-iterations or try a larger --block-size";
    case StopReason::indefinite_matrix: return "; this solver needs a positive definite matrix, try --solver gmres";
    case StopReason::indefinite_preconditioner:
      return "; the preconditioner is not positive definite, try --solver gmres or another --block-size";
    case StopReason::breakdown:
      return is_gmres(solver) ? "; try another --restart or --block-size" : "; try --solver gmres";
    case StopReason::stagnation: return "; the accuracy that --rtol asks for is out of reach in this --scalar";
    case StopReason::nan_or_inf: return "; the numbers left the range of this --scalar, the solution is not usable";
    default: return "";
  }
}

nlohmann::json blocks_json(const Outcome& outcome) {
  nlohmann::json sizes = nlohmann::json::array();
  for (const auto& [rows, count] : outcome.blocks.sizes) sizes.push_back({{"rows", rows}, {"count", count}});
  nlohmann::json json{{"how", outcome.blocks.how},
                      {"count", outcome.blocks.blocks},
                      {"sizes", std::move(sizes)},
                      {"partition_ms", outcome.blocks.milliseconds},
                      {"renumbered", outcome.blocks.renumbered}};
  if (outcome.blocks.suggestion) json["suggestion"] = nlohmann::json::parse(to_json(*outcome.blocks.suggestion));
  if (!outcome.setup) return json;
  const auto& setup = *outcome.setup;
  json["singular_policy"] = blockjacobi::to_string(setup.policy);
  json["singular"] = setup.singular_blocks;
  json["storage"] = blockjacobi::to_string(setup.storage);
  json["formats"] = nlohmann::json::object();
  for (const auto& [format, count] : setup.formats) json["formats"][blockjacobi::to_string(format)] = count;
  json["inverse_bytes"] = setup.inverse_bytes;
  json["non_finite"] = setup.non_finite_blocks;
  json["unsuited"] = setup.unsuited_blocks;
  json["entries_inside"] = setup.entries_inside;
  json["captured"] = setup.captured.value_or(1.0);
  json["max_growth"] = setup.max_growth ? nlohmann::json(*setup.max_growth) : nlohmann::json();
  json["max_growth_block"] = setup.max_growth_block;
  const auto& times = setup.times.value();
  json["setup_phases_ms"] = {{"analysis", 1e3 * times.analysis},
                             {"inversion", 1e3 * times.inversion},
                             {"repair", 1e3 * times.repair},
                             {"storage", 1e3 * times.storage}};
  json["min_rcond"] = setup.min_rcond;
  json["bytes"] = setup.bytes;
  json["defects"] = nlohmann::json::array();
  for (const auto& defect : setup.defects) {
    json["defects"].push_back({{"block", defect.block},
                               {"first_row", defect.first_row},
                               {"rows", defect.size},
                               {"info", defect.info},
                               {"rcond", defect.rcond}});
    if (!defect.original_rows.empty()) json["defects"].back()["original_rows"] = defect.original_rows;
  }
  return json;
}

std::ofstream open(const char* option, const std::filesystem::path& path) {
  std::ofstream file(path);
  if (!file) throw UsageError(fmt::format("{}: '{}' cannot be written", option, path.string()));
  return file;
}

void close(const char* option, const std::filesystem::path& path, std::ofstream& file) {
  file.close();
  if (!file) throw UsageError(fmt::format("{}: '{}' was not written whole", option, path.string()));
}

}  // namespace

void print_input(const Outcome& outcome) {
  const auto& [header, nnz, seconds, file_bytes] = outcome.info;
  const bool packed = outcome.matrix.ends_with(".gz");
  print_labelled(
      "matrix", fmt::format("{}\n{} x {}, {} entries, {} {}, read in {:.3f} s ({:.0f} MB/s{})", outcome.matrix,
                            header.rows, header.cols, nnz, to_string(header.field), to_string(header.symmetry), seconds,
                            file_bytes / 1e6 / std::max(seconds, 1e-9), packed ? " of the packed file" : ""));
  print_labelled("scalar", fmt::format("{}", to_char(outcome.scalar)));
  const std::string because = outcome.backend_because.empty() ? "" : "\n" + outcome.backend_because;
  print_labelled("backend", outcome.backend + because);
}

void print_solver(const Outcome& outcome, const Options& options) {
  std::string name = to_string(outcome.solver);
  if (is_gmres(outcome.solver)) name += fmt::format("({})", options.restart);
  if (outcome.solver == Solver::richardson) name += fmt::format(", relaxation {}", options.relaxation);
  print_labelled("solver", fmt::format("{} ({}), rtol {}, at most {} iterations", name, outcome.solver_because,
                                       options.rtol, options.max_iterations));
}

void print_partition(const BlocksInfo& blocks) {
  if (blocks.suggestion) print_labelled("suggest", to_text(*blocks.suggestion));
  print_labelled("blocks", fmt::format("{}: {} block{}, {}{} ({:.1f} ms)", blocks.how, blocks.blocks,
                                       blocks.blocks == 1 ? "" : "s", histogram(blocks.sizes),
                                       blocks.renumbered ? ", rows renumbered" : "", blocks.milliseconds));
}

void print_setup(const Outcome& outcome) {
  const auto& setup = *outcome.setup;
  print_labelled("set-up", fmt::format("{:.1f} ms\n{}", outcome.setup_ms, blockjacobi::to_text(setup)));
  if (setup.unsuited_blocks > 0)
    warn(fmt::format(
        "{} storage loses a row or column of the inverses of {} of {} blocks (first: block {}); take another",
        blockjacobi::to_string(setup.storage), setup.unsuited_blocks, setup.blocks, setup.first_unsuited));
  if (setup.defects.empty()) return;
  warn(fmt::format("{} of {} blocks could not be inverted and were replaced by {} (first: {}); see the set-up report",
                   setup.defects.size(), setup.blocks, blockjacobi::to_string(setup.policy),
                   blockjacobi::describe(setup.defects.front())));
}

void print_end(const Outcome& outcome) {
  if (outcome.solve) {
    const auto& solve = *outcome.solve;
    const double per_iteration = outcome.solve_ms / std::max(1, solve.iterations);
    print_labelled("solve", fmt::format("{:.1f} ms, {:.4f} ms an iteration", outcome.solve_ms, per_iteration));
    print_labelled("residual", fmt::format("||b - A x|| = {:.3e}, ||b|| = {:.3e}, relative {:.3e} (recomputed from x)",
                                           solve.true_residual, solve.rhs_norm, solve.relative_residual()));
  }
  print_labelled("outcome", outcome.message);
}

void warn(const std::string& message) {
  std::fflush(stdout);
  fmt::print(stderr, "{}: warning: {}\n", program_name, message);
}

std::string end_message(const blockjacobi::SolveReport& report, Solver solver) {
  const auto iterations = fmt::format("{} iteration{}", report.iterations, report.iterations == 1 ? "" : "s");
  if (report.converged()) return fmt::format("converged after {}", iterations);
  return fmt::format("not converged: {} after {}{}", blockjacobi::to_string(report.reason), iterations,
                     advice(report.reason, solver));
}

void write_json(const std::filesystem::path& path, const Outcome& outcome) {
  nlohmann::ordered_json json{{"program", program_name},
                              {"version", blockjacobi::version},
                              {"matrix", outcome.matrix},
                              {"rows", outcome.info.header.rows},
                              {"nnz", outcome.info.nnz},
                              {"field", to_string(outcome.info.header.field)},
                              {"symmetry", to_string(outcome.info.header.symmetry)},
                              {"scalar", std::string(1, to_char(outcome.scalar))},
                              {"backend", outcome.backend},
                              {"backend_because", outcome.backend_because},
                              {"blocks", blocks_json(outcome)},
                              {"setup_ms", outcome.setup_ms},
                              {"solver", to_string(outcome.solver)},
                              {"reason", blockjacobi::to_string(outcome.reason)},
                              {"message", outcome.message},
                              {"iterations", nullptr},
                              {"solve_ms", nullptr},
                              {"true_residual", nullptr},
                              {"relative_residual", nullptr},
                              {"residual_gap", nullptr},
                              {"rhs_norm", nullptr},
                              {"history", nlohmann::json::array()}};
  if (outcome.solve) {
    json["iterations"] = outcome.solve->iterations;
    json["solve_ms"] = outcome.solve_ms;
    json["true_residual"] = outcome.solve->true_residual;
    json["relative_residual"] = outcome.solve->relative_residual();
    json["residual_gap"] = outcome.solve->residual_gap();
    json["rhs_norm"] = outcome.solve->rhs_norm;
    json["history"] = outcome.solve->history;
  }
  auto file = open("--json", path);
  // why replace: a file name need not be UTF-8, which would make dump() throw.
  file << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  close("--json", path, file);
}

void write_history(const std::filesystem::path& path, const Outcome& outcome) {
  auto file = open("--history", path);
  file << "iteration,residual\n";
  if (outcome.solve)
    for (std::size_t i = 0; i < outcome.solve->history.size(); ++i)
      file << fmt::format("{},{}\n", i, outcome.solve->history[i]);
  close("--history", path, file);
}

}  // namespace solve
