#pragma once

#include "outcome.hpp"

#include <filesystem>

namespace solve {

/// Throws UsageError where gnuplot, which draws, is not in PATH or does not take the name of the file, and where that
/// does not end in .png.
void require_plotter(const std::filesystem::path& path);

/// A PNG picture of the residual of the recurrence relative to ||b|| over the iterations, a line for each column, or
/// for each candidate of --compare, and of rtol; a warning and no file where no residual is positive and finite. Throws
/// UsageError if the file cannot be written.
void write_plot(const std::filesystem::path& path, const Outcome& outcome, double rtol);

}  // namespace solve
