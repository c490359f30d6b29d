#include "second_choice.hpp"

#include "blocked_system.hpp"
#include "counted.hpp"
#include "preconditioner.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace solve {

using blockjacobi::StopReason;

namespace {

/// Inverses of larger clusters may take so much memory.
constexpr double most_bytes = 4e9;

index_t largest_clusters(index_t rows, std::size_t scalar_bytes) {
  index_t size = blockjacobi::max_block_size;
  while (size > 32 && static_cast<double>(rows) * size * static_cast<double>(scalar_bytes) > most_bytes) size /= 4;
  return size;
}

}  // namespace

std::optional<Options> second_choice(const Options& given, const Options& last, Solver solver, const Attempt& attempt,
                                     index_t rows, std::size_t scalar_bytes) {
  if (!suggests(given.blocks) || solver == Solver::richardson) return std::nullopt;
  const bool chooses_coarse = given.coarse == Coarse::automatic;
  const index_t size = largest_clusters(rows, scalar_bytes);
  const index_t tried = attempt.blocks.sizes.empty() ? 0 : attempt.blocks.sizes.back().first;
  Options next = last;
  next.blocks = Blocks::clusters;
  next.block_size = size;
  if (last.blocks != Blocks::clusters && tried <= size / 2) {
    if (chooses_coarse) next.coarse = Coarse::none;
    return next;
  }
  if (!chooses_coarse || last.coarse != Coarse::none) return std::nullopt;
  next.coarse = Coarse::ones;
  return next;
}

std::optional<Solver> second_solver(const Options& given, Solver solver, const Attempt& attempt) {
  const bool is_indefinite =
      attempt.reason == StopReason::indefinite_matrix || attempt.reason == StopReason::indefinite_preconditioner;
  if (given.solver || solver != Solver::cg || !is_indefinite) return std::nullopt;
  return Solver::gmres;
}

bool came_to_nothing(const Attempt& attempt) {
  return attempt.reason == StopReason::user_stop || attempt.reason == StopReason::breakdown ||
         attempt.reason == StopReason::nan_or_inf;
}

Options with_what_is_left(Options options, const Attempt& attempt) {
  if (const ColumnSolve* solve = attempt.worst_column())
    options.max_iterations = std::max(index_t{1}, options.max_iterations - solve->report.iterations);
  if (options.max_seconds > 0.0) options.max_seconds = std::max(1e-9, options.max_seconds - 1e-3 * attempt.solve_ms());
  return options;
}

std::string change_of_mind(const Attempt& attempt) {
  const ColumnSolve* solve = attempt.worst_column();
  const std::string why =
      attempt.reason == StopReason::user_stop ? "the residual hardly falls" : std::string(to_string(attempt.reason));
  return fmt::format("{} after {}; now ", why, counted(solve ? solve->report.iterations : 0, "iteration"));
}

std::string what(const Options& next) {
  return next.coarse == Coarse::none ? how(next) : fmt::format("{}, coarse level: {}", how(next), coarse_name(next));
}

}  // namespace solve
