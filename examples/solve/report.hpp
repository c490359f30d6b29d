#pragma once

#include "outcome.hpp"

#include <filesystem>

namespace solve {

// What the program prints, in this order.
void print_input(const Outcome& outcome);
void print_solver(const Outcome& outcome, const Options& options);
void print_partition(const BlocksInfo& blocks);
void print_setup(const Outcome& outcome);
void print_end(const Outcome& outcome);

/// A line on the error stream.
void warn(const std::string& message);

/// One sentence about how the solve ended, with what to try if it did not converge.
std::string end_message(const blockjacobi::SolveReport& report, Solver solver);

/// Throws UsageError if the file cannot be written. Numbers that are not finite become null.
void write_json(const std::filesystem::path& path, const Outcome& outcome);

/// The residual of the recurrence before and after each iteration. Throws as above.
void write_history(const std::filesystem::path& path, const Outcome& outcome);

}  // namespace solve
