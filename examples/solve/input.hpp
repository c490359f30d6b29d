#pragma once

#include "outcome.hpp"

namespace solve {

/// What the header of the file says, and what follows from it: scalar, solver, unknowns of a node and the source of
/// blocks, if the options leave them open. Everything that costs no memory is checked before the entries are read.
/// Throws UsageError.
Outcome look_at_input(Options& options);

/// With "auto" CUDA if it can be had; else the host, and why.
blockjacobi::Backend choose_backend(const Options& options, Outcome& outcome);

}  // namespace solve
