#pragma once

#include "options.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace solve {

/// What was read, and how fast.
struct MatrixInfo {
  blockjacobi::MatrixMarketHeader header;
  blockjacobi::offset_t nnz = 0;  ///< after symmetry is expanded
  double seconds = 0.0;
  double file_bytes = 0.0;  ///< as the file lies on disk
};

/// How the rows were split.
struct BlocksInfo {
  std::string how;
  index_t blocks = 0;
  std::vector<std::pair<index_t, index_t>> sizes;  ///< (rows, how many blocks), ascending
  double milliseconds = 0.0;
  bool renumbered = false;                              ///< the system is solved in another order of its rows
  std::optional<blockjacobi::Suggestion> suggestion{};  ///< where suggest() was asked, followed or not
};

using CoarseReport = std::variant<blockjacobi::TwoLevelReport, blockjacobi::MultigridReport>;

/// The level or levels above the blocks.
struct CoarseInfo {
  std::string how;
  double milliseconds = 0.0;
  CoarseReport report;

  std::size_t bytes() const {
    return std::visit([](const auto& found) { return found.bytes; }, report);
  }
};

/// The solve of one right-hand side.
struct ColumnSolve {
  double milliseconds = 0.0;
  blockjacobi::SolveReport report;
};

/// What became of one choice of blocks and coarse level.
struct Attempt {
  BlocksInfo blocks;
  double setup_ms = 0.0;                                                     ///< of the blocks
  std::optional<blockjacobi::BlockJacobiReport> setup;                       ///< none if a singular block ended the run
  std::optional<CoarseInfo> coarse;                                          ///< as above, and without a coarse level
  std::vector<ColumnSolve> columns;                                          ///< none as above
  std::size_t worst = 0;                                                     ///< of the columns
  blockjacobi::StopReason reason = blockjacobi::StopReason::singular_block;  ///< of the worst column
  std::string message;                                                       ///< one sentence about the end

  /// Nullptr if nothing was solved.
  const ColumnSolve* worst_column() const noexcept { return columns.empty() ? nullptr : &columns[worst]; }
  /// Blocks found, inverted, coarse level.
  double whole_setup_ms() const noexcept {
    return blocks.milliseconds + setup_ms + (coarse ? coarse->milliseconds : 0.0);
  }
  /// Of all columns.
  double solve_ms() const noexcept {
    double sum = 0.0;
    for (const ColumnSolve& column : columns) sum += column.milliseconds;
    return sum;
  }
  /// In the backend's memory, besides the matrix; 0 without a set-up.
  std::size_t bytes() const { return (setup ? setup->bytes : 0) + (coarse ? coarse->bytes() : 0); }
};

/// One of the choices that --compare tries.
struct Candidate {
  std::string name;
  Options options;
  std::string same_as;  ///< name of the candidate with the same blocks that stands for it; empty: none
  Attempt attempt;
  std::string failure;  ///< what was thrown; empty: nothing

  bool converged() const noexcept {
    return same_as.empty() && failure.empty() && attempt.reason == blockjacobi::StopReason::converged;
  }
  double whole_ms() const noexcept { return attempt.whole_setup_ms() + attempt.solve_ms(); }
};

/// An attempt that was followed by one with another solver or other blocks.
struct GivenUp {
  Solver solver;
  Attempt attempt;
};

/// Everything a run has to say, for the text and for the JSON file.
struct Outcome {
  std::string matrix;
  MatrixInfo info;
  blockjacobi::ScalarType scalar = blockjacobi::ScalarType::d;
  std::string backend;
  std::string backend_because;  ///< why "auto" took the host
  Solver solver = Solver::cg;
  std::string solver_because;         ///< why this one
  std::vector<GivenUp> given_up;      ///< before `attempt`, in their order
  Attempt attempt;                    ///< with --compare that of the winner
  std::vector<Candidate> candidates;  ///< of --compare, the fastest first
};

}  // namespace solve
