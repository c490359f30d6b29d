#include "report_files.hpp"

#include "compare.hpp"
#include "report.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <fstream>
#include <string>
#include <utility>
#include <variant>

namespace solve {

using nlohmann::ordered_json;

namespace {

nlohmann::json blocks_json(const Attempt& attempt) {
  const auto& blocks = attempt.blocks;
  nlohmann::json sizes = nlohmann::json::array();
  for (const auto& [rows, count] : blocks.sizes) sizes.push_back({{"rows", rows}, {"count", count}});
  nlohmann::json json{{"how", blocks.how},
                      {"count", blocks.blocks},
                      {"sizes", std::move(sizes)},
                      {"partition_ms", blocks.milliseconds},
                      {"renumbered", blocks.renumbered}};
  if (blocks.suggestion) json["suggestion"] = nlohmann::json::parse(to_json(*blocks.suggestion));
  if (!attempt.setup) return json;
  const auto& setup = *attempt.setup;
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

nlohmann::json shape_json(const blockjacobi::TwoLevelReport& report) {
  return {{"mode", blockjacobi::to_string(report.mode)},
          {"size", report.size},
          {"aggregates", report.aggregates},
          {"uncovered_rows", report.uncovered_rows}};
}

nlohmann::json shape_json(const blockjacobi::MultigridReport& report) {
  nlohmann::json levels = nlohmann::json::array();
  for (const auto& level : report.levels)
    levels.push_back({{"rows", level.rows}, {"nnz", level.nnz}, {"relaxation", level.relaxation}});
  return {{"levels", std::move(levels)}};
}

nlohmann::json coarse_json(const CoarseInfo& coarse) {
  return std::visit(
      [&](const auto& report) {
        nlohmann::json json = shape_json(report);
        json["how"] = coarse.how;
        json["bytes"] = report.bytes;
        json["singular"] = report.is_singular;
        json["finite"] = report.is_finite;
        json["rcond"] = report.rcond;
        json["setup_ms"] = coarse.milliseconds;
        return json;
      },
      coarse.report);
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

void put_solve(ordered_json& json, const ColumnSolve* solve) {
  json["iterations"] = solve ? ordered_json(solve->report.iterations) : ordered_json();
  json["solve_ms"] = solve ? ordered_json(solve->milliseconds) : ordered_json();
  json["true_residual"] = solve ? ordered_json(solve->report.true_residual) : ordered_json();
  json["relative_residual"] = solve ? ordered_json(solve->report.relative_residual()) : ordered_json();
  json["residual_gap"] = solve ? ordered_json(solve->report.residual_gap()) : ordered_json();
  json["rhs_norm"] = solve ? ordered_json(solve->report.rhs_norm) : ordered_json();
  json["history"] = solve ? ordered_json(solve->report.history) : ordered_json::array();
}

/// What is said of one column is said of the worst; those that there are stand under "columns".
void put_attempt(ordered_json& json, const Attempt& attempt) {
  json["blocks"] = blocks_json(attempt);
  json["setup_ms"] = attempt.setup_ms;
  json["coarse"] = attempt.coarse ? coarse_json(*attempt.coarse) : nlohmann::json();
  json["reason"] = blockjacobi::to_string(attempt.reason);
  json["message"] = attempt.message;
  put_solve(json, attempt.worst_column());
  json["columns"] = ordered_json::array();
  for (const ColumnSolve& column : attempt.columns) {
    ordered_json entry{{"reason", blockjacobi::to_string(column.report.reason)}};
    put_solve(entry, &column);
    json["columns"].push_back(std::move(entry));
  }
}

ordered_json candidate_json(const Candidate& candidate) {
  ordered_json json{{"name", candidate.name},
                    {"command", command_line(candidate)},
                    {"same_as", candidate.same_as.empty() ? ordered_json() : ordered_json(candidate.same_as)},
                    {"failure", candidate.failure.empty() ? ordered_json() : ordered_json(candidate.failure)}};
  if (!candidate.same_as.empty() || !candidate.failure.empty()) return json;
  json["whole_setup_ms"] = candidate.attempt.whole_setup_ms();
  json["whole_ms"] = candidate.whole_ms();
  json["bytes"] = candidate.attempt.bytes();
  put_attempt(json, candidate.attempt);
  return json;
}

}  // namespace

void write_json(const std::filesystem::path& path, const Outcome& outcome) {
  ordered_json json{{"program", program_name},
                    {"version", blockjacobi::version},
                    {"matrix", outcome.matrix},
                    {"rows", outcome.info.header.rows},
                    {"nnz", outcome.info.nnz},
                    {"field", to_string(outcome.info.header.field)},
                    {"symmetry", to_string(outcome.info.header.symmetry)},
                    {"scalar", std::string(1, to_char(outcome.scalar))},
                    {"backend", outcome.backend},
                    {"backend_because", outcome.backend_because},
                    {"solver", traits(outcome.solver).name}};
  json["given_up"] = ordered_json::array();
  for (const auto& [solver, attempt] : outcome.given_up) {
    ordered_json entry{{"solver", traits(solver).name}};
    put_attempt(entry, attempt);
    json["given_up"].push_back(std::move(entry));
  }
  put_attempt(json, outcome.attempt);
  if (!outcome.candidates.empty()) {
    const Candidate& best = outcome.candidates.front();
    json["winner"] = best.converged() ? ordered_json(best.name) : ordered_json();
    for (const Candidate& candidate : outcome.candidates) json["candidates"].push_back(candidate_json(candidate));
  }
  auto file = open("--json", path);
  // why replace: a file name need not be UTF-8, which would make dump() throw.
  file << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  close("--json", path, file);
}

void write_history(const std::filesystem::path& path, const Outcome& outcome) {
  auto file = open("--history", path);
  const auto& columns = outcome.attempt.columns;
  const bool several = columns.size() > 1;
  file << (several ? "column,iteration,residual\n" : "iteration,residual\n");
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const auto& history = columns[column].report.history;
    for (std::size_t i = 0; i < history.size(); ++i)
      file << (several ? fmt::format("{},", column + 1) : "") << fmt::format("{},{}\n", i, history[i]);
  }
  close("--history", path, file);
}

}  // namespace solve
