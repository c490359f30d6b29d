#pragma once

#include "options.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <string>

namespace solve {

/// What the user may change after a solve that did not converge, behind a semicolon; nothing where nothing is known.
std::string advice(const blockjacobi::SolveReport& report, Solver solver, const Options& options);

}  // namespace solve
