#pragma once

#include "blocked_system.hpp"
#include "outcome.hpp"
#include "patience.hpp"
#include "preconditioner.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "solvers.hpp"
#include "stopwatch.hpp"
#include "system.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace solve {

blockjacobi::SolveOptions solve_options(const Options& options);

/// "column 2 of 3", or nothing where there is but one.
std::string column_title(index_t column, index_t columns);

template <Scalar T>
struct Solved {
  std::vector<ColumnSolve> columns;
  blockjacobi::DenseMatrix<T> x;
};

/// A X = B, one column after another, in max_seconds together. The only place that knows in which order. With patience
/// the columns end with the one at which it does; those behind it stay as they are in x0.
template <Scalar T>
Solved<T> solve_columns(Solver solver, const blockjacobi::SparseMatrix<T>& A, const blockjacobi::Preconditioner<T>& M,
                        const blockjacobi::DenseMatrix<T>& b, const blockjacobi::DenseMatrix<T>& x0,
                        blockjacobi::SolveOptions options, const Narration& narration, Patience* patience) {
  constexpr double no_time = 1e-9;
  Solved<T> solved{{}, {b.rows, b.cols, {}}};
  solved.x.values.reserve(b.values.size());
  for (index_t column = 0; column < b.cols; ++column) {
    const blockjacobi::Array<T> right_hand_side(A.backend(), column_of(b, column));
    blockjacobi::Array<T> x(A.backend(), column_of(x0, column));
    ProgressLine line({narration.whole, narration.title + column_title(column, b.cols)});
    options.progress = [&line, patience](const blockjacobi::SolveProgress& progress) {
      line.show(progress);
      return patience == nullptr || patience->lasts(progress);
    };
    if (patience != nullptr) patience->begin_column();
    ColumnSolve solve;
    solve.milliseconds = milliseconds(A.backend(), [&] {
      solve.report = solver_function<T>(solver)(A, M, right_hand_side.view(), x.view(), options);
    });
    line.finish();
    if (options.max_seconds > 0.0) options.max_seconds = std::max(no_time, options.max_seconds - solve.report.seconds);
    solved.columns.push_back(std::move(solve));
    const auto values = x.to_host();
    solved.x.values.insert(solved.x.values.end(), values.begin(), values.end());
    const auto reason = solved.columns.back().report.reason;
    if (reason == blockjacobi::StopReason::user_stop) break;  // patience: nobody else stops
    // What came to the limits leaves nothing for a second attempt.
    if (reason != blockjacobi::StopReason::converged) patience = nullptr;
  }
  return solved;
}

/// Reason and message of the attempt, from its columns.
void conclude(Attempt& attempt, Solver solver, const Options& options);

/// Whether the last column ended so: those behind it were not begun.
bool patience_ended(const Attempt& attempt);

/// Takes the time of the set-up from that of the solves; false, with the reason, if nothing is left.
bool leave_time_for_solves(Attempt& attempt, blockjacobi::SolveOptions& limits);

/// The rows of a block as the user's matrix numbers them, the first eight of many.
std::string rows_before(const blockjacobi::Permutation& permutation, const blockjacobi::SingularBlock& error);

/// From blocks to the end of the solve: set-up, with the coarse level that the options name, and all columns, from x0.
/// `attempt` has the blocks already. Returns the solution in the numbering of the file, as x0 is, if there is one.
/// Without `patience` for as long as the options say.
template <Scalar T>
std::optional<blockjacobi::DenseMatrix<T>> set_up_and_solve(const Options& options, Solver solver,
                                                            const System<T>& system, const BlockedSystem<T>& blocked,
                                                            const blockjacobi::DenseMatrix<T>& x0,
                                                            const Narration& narration, Attempt& attempt,
                                                            Patience* patience = nullptr) {
  const auto& permutation = blocked.found.permutation;
  try {
    const auto M = set_up(options, solver, blocked, system.vectors().coarse, attempt);
    if (narration.whole) print_setup(attempt);
    auto limits = solve_options(options);
    if (options.compare && !leave_time_for_solves(attempt, limits)) return std::nullopt;
    auto solved = solve_columns(solver, blocked.A, as_preconditioner<T>(M), permuted(system.vectors().b, permutation),
                                permuted(x0, permutation), limits, narration, patience);
    attempt.columns = std::move(solved.columns);
    conclude(attempt, solver, options);
    return permuted(solved.x, permutation.inverse());
  } catch (const blockjacobi::SingularBlock& error) {
    attempt.reason = blockjacobi::StopReason::singular_block;
    attempt.message = fmt::format("not converged: singular_block: {}", error.what());
    if (attempt.blocks.renumbered) attempt.message += rows_before(permutation, error);
  }
  return std::nullopt;
}

}  // namespace solve
