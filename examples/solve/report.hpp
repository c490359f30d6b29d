#pragma once

#include "outcome.hpp"

#include <string>

namespace solve {

const char* to_string(blockjacobi::MatrixMarketField field) noexcept;
const char* to_string(blockjacobi::MatrixMarketSymmetry symmetry) noexcept;

/// Text under a label in the left column; further lines are indented as far.
void print_labelled(const char* label, const std::string& text);

/// "gmres(30)", "richardson, relaxation 0.5"
std::string solver_name(Solver solver, const Options& options);

// What the program prints, in this order.
void print_input(const Outcome& outcome);
void print_solver(const Outcome& outcome, const Options& options);
void print_partition(const BlocksInfo& blocks, const Options& options);
void print_setup(const Attempt& attempt);
void print_end(const Attempt& attempt);

/// A line on the error stream.
void warn(const std::string& message);

/// One sentence about how the solve ended, with what to try if it did not converge.
std::string end_message(const blockjacobi::SolveReport& report, Solver solver, const Options& options);

}  // namespace solve
