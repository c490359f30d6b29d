#pragma once

#include "outcome.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace solve {

/// What to try after an attempt with blocks that suggest() chose: larger clusters. Nothing where the user has chosen
/// the blocks, where these are large already, and for solvers that do not restart: no other stagnates. `options`: those
/// of the attempt.
std::optional<Options> second_choice(const Options& given, const Options& options, Solver solver,
                                     const BlocksInfo& blocks, index_t rows, std::size_t scalar_bytes);

/// GMRES after CG that the program chose, and that is not for such a matrix or preconditioner.
std::optional<Solver> second_solver(const Options& given, Solver solver, const Attempt& attempt);

/// Whether an attempt ended before its limits, by patience or by numbers that larger blocks may keep in range.
bool came_to_nothing(const Attempt& attempt);

/// The options for what the attempts have left of the limits of iterations, which are those of a column, and of time.
Options with_what_is_left(Options options, const Options& given, const std::vector<GivenUp>& given_up);

/// How an attempt ended.
std::string how_it_was_given_up(const Attempt& attempt, double predicted_iterations);

}  // namespace solve
