#pragma once

#include "options.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <optional>
#include <string>
#include <utility>
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
  std::optional<blockjacobi::Suggestion> suggestion{};  ///< with Blocks::suggest
};

/// Everything a run has to say, for the text and for the JSON file.
struct Outcome {
  std::string matrix;
  MatrixInfo info;
  blockjacobi::ScalarType scalar = blockjacobi::ScalarType::d;
  std::string backend;
  std::string backend_because;  ///< why "auto" took the host
  Solver solver = Solver::cg;
  std::string solver_because;  ///< why this one
  BlocksInfo blocks;
  double setup_ms = 0.0;
  std::optional<blockjacobi::BlockJacobiReport> setup;  ///< none if a singular block ended the run
  double solve_ms = 0.0;
  std::optional<blockjacobi::SolveReport> solve;  ///< as above
  blockjacobi::StopReason reason = blockjacobi::StopReason::singular_block;
  std::string message;  ///< one sentence about the end
};

}  // namespace solve
