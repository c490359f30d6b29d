#pragma once

#include "outcome.hpp"

#include <filesystem>

namespace solve {

/// Throws UsageError where gnuplot, which draws, is not in PATH.
void require_plotter(const std::filesystem::path& path);

/// A PNG picture of the residual of the recurrence over the iterations, and of rtol ||b||. Throws UsageError if it
/// cannot be written.
void write_plot(const std::filesystem::path& path, const Outcome& outcome, double rtol);

}  // namespace solve
