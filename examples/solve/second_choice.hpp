#pragma once

#include "outcome.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace solve {

/// What to try after an attempt with blocks that suggest() chose, or after the last that was tried instead: larger
/// clusters, then a coarse level on them. Nothing after that, and where the user has chosen the blocks, or a solver
/// whose iterations nobody predicts. `given`: by the user; `last`: those of the attempt.
std::optional<Options> second_choice(const Options& given, const Options& last, Solver solver, const Attempt& attempt,
                                     index_t rows, std::size_t scalar_bytes);

/// GMRES after CG that the program chose, and that is not for such a matrix or preconditioner.
std::optional<Solver> second_solver(const Options& given, Solver solver, const Attempt& attempt);

/// Whether an attempt came to nothing that other blocks may help.
bool came_to_nothing(const Attempt& attempt);

/// The same options for what is left of the limits of iterations and time.
Options with_what_is_left(Options options, const Attempt& attempt);

/// How an attempt ended, for a line that goes on with what is tried next.
std::string change_of_mind(const Attempt& attempt);

/// Blocks and coarse level.
std::string what(const Options& next);

}  // namespace solve
