#pragma once

#include "outcome.hpp"

#include <filesystem>

namespace solve {

/// Throws UsageError if the file cannot be written. Numbers that are not finite become null.
void write_json(const std::filesystem::path& path, const Outcome& outcome);

/// The residual of the recurrence before and after each iteration, of every column if there are several. Throws as
/// above.
void write_history(const std::filesystem::path& path, const Outcome& outcome);

}  // namespace solve
