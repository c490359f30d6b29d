#include "attempt.hpp"

#include "counted.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

namespace solve {

blockjacobi::SolveOptions solve_options(const Options& options) {
  blockjacobi::SolveOptions solve;
  solve.rtol = options.rtol;
  solve.max_iterations = options.max_iterations;
  solve.restart = options.restart;
  solve.relaxation = options.relaxation;
  solve.resident = options.resident;
  solve.max_seconds = options.max_seconds;
  return solve;
}

std::string column_title(index_t column, index_t columns) {
  return columns == 1 ? "" : fmt::format("column {} of {}", column + 1, columns);
}

bool patience_ended(const Attempt& attempt) {
  return !attempt.columns.empty() && attempt.columns.back().report.reason == blockjacobi::StopReason::user_stop;
}

void conclude(Attempt& attempt, Solver solver, const Options& options) {
  const auto& columns = attempt.columns;
  if (patience_ended(attempt)) {
    attempt.worst = columns.size() - 1;
    attempt.reason = blockjacobi::StopReason::user_stop;
    attempt.message = fmt::format("given up after {}", counted(columns.back().report.iterations, "iteration"));
    return;
  }
  const auto better = [](const ColumnSolve& a, const ColumnSolve& b) {
    return std::tuple(!a.report.converged(), a.report.iterations) <
           std::tuple(!b.report.converged(), b.report.iterations);
  };
  attempt.worst = static_cast<std::size_t>(std::max_element(columns.begin(), columns.end(), better) - columns.begin());
  const auto& worst = attempt.worst_column()->report;
  attempt.reason = worst.reason;
  attempt.message = end_message(worst, solver, options);
  if (columns.size() == 1) return;
  const auto end = std::count_if(columns.begin(), columns.end(), [](const auto& c) { return c.report.converged(); });
  attempt.message =
      fmt::format("{} of {} columns converged; column {}: {}", end, columns.size(), attempt.worst + 1, attempt.message);
}

bool leave_time_for_solves(Attempt& attempt, blockjacobi::SolveOptions& limits) {
  if (limits.max_seconds == 0.0) return true;
  const double seconds = attempt.whole_setup_ms() * 1e-3;
  limits.max_seconds -= seconds;
  if (limits.max_seconds > 0.0) return true;
  attempt.reason = blockjacobi::StopReason::time_limit;
  attempt.message = fmt::format("not converged: time_limit: the set-up took {:.1f} s", seconds);
  return false;
}

std::string rows_before(const blockjacobi::Permutation& permutation, const blockjacobi::SingularBlock& error) {
  constexpr index_t most = 8;
  const auto first = permutation.order().begin() + error.first_row();
  return fmt::format("; before renumbering rows {}{}", fmt::join(first, first + std::min(error.size(), most), ", "),
                     error.size() > most ? fmt::format(" and {} more", error.size() - most) : "");
}

}  // namespace solve
