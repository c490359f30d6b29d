#include "second_choice.hpp"

#include "blocked_system.hpp"
#include "counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace solve {

using blockjacobi::StopReason;

namespace {

/// Of the inverses, which every iteration reads: 0.05 s of a core. Where there are more rows, clusters are smaller.
constexpr double most_bytes = 1e9;

index_t largest_clusters(index_t rows, std::size_t scalar_bytes) {
  index_t size = blockjacobi::max_block_size;
  while (size > 32 && static_cast<double>(rows) * size * static_cast<double>(scalar_bytes) > most_bytes) size /= 2;
  return size;
}

}  // namespace

std::optional<Options> second_choice(const Options& given, const Options& options, Solver solver,
                                     const BlocksInfo& blocks, index_t rows, std::size_t scalar_bytes) {
  if (!suggests(given.blocks) || !traits(solver).restarts) return std::nullopt;
  const index_t size = largest_clusters(rows, scalar_bytes);
  const index_t tried = blocks.sizes.empty() ? 0 : blocks.sizes.back().first;
  if (tried > size / 2 || tried >= rows) return std::nullopt;
  Options next = options;
  next.blocks = Blocks::clusters;
  next.block_size = size;
  next.coarse = given.coarse == Coarse::automatic ? Coarse::none : given.coarse;
  next.coarse_size = given.coarse_size;
  return next;
}

std::optional<Solver> second_solver(const Options& given, Solver solver, const Attempt& attempt) {
  const auto is_indefinite = [](const ColumnSolve& column) {
    return column.report.reason == StopReason::indefinite_matrix ||
           column.report.reason == StopReason::indefinite_preconditioner;
  };
  if (given.solver || solver != Solver::cg || std::ranges::none_of(attempt.columns, is_indefinite)) return std::nullopt;
  return Solver::gmres;
}

bool came_to_nothing(const Attempt& attempt) {
  const ColumnSolve* solve = attempt.worst_column();
  const bool has_begun = solve != nullptr && solve->report.iterations > 0;
  return has_begun && (attempt.reason == StopReason::user_stop || attempt.reason == StopReason::breakdown ||
                       attempt.reason == StopReason::nan_or_inf);
}

Options with_what_is_left(Options options, const Options& given, const std::vector<GivenUp>& given_up) {
  constexpr double no_time = 1e-9;
  options.max_iterations = given.max_iterations;
  options.max_seconds = given.max_seconds;
  for (const auto& [solver, attempt] : given_up) {
    index_t most = 0;
    for (const ColumnSolve& column : attempt.columns) most = std::max(most, column.report.iterations);
    // Columns before one that was given up are solved, and end at once in the next attempt.
    options.max_iterations -= attempt.reason == StopReason::user_stop ? attempt.columns.back().report.iterations : most;
    if (given.max_seconds > 0.0)
      options.max_seconds = std::max(no_time, options.max_seconds - 1e-3 * attempt.solve_ms());
  }
  options.max_iterations = std::max(index_t{1}, options.max_iterations);
  return options;
}

std::string how_it_was_given_up(const Attempt& attempt, double predicted_iterations) {
  const ColumnSolve* solve = attempt.worst_column();
  const std::string iterations = counted(solve ? solve->report.iterations : 0, "iteration");
  if (attempt.reason != StopReason::user_stop) return fmt::format("{} after {}", to_string(attempt.reason), iterations);
  if (!std::isfinite(predicted_iterations)) return fmt::format("no end in sight after {}", iterations);
  return fmt::format("no end in sight after {}, {:.0f} predicted", iterations, predicted_iterations);
}

}  // namespace solve
