#include "progress.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace solve {

namespace {

std::string to_line(const blockjacobi::SolveProgress& progress) {
  return fmt::format("  iteration {:>6}   ||r|| {:.3e}   target {:.3e}", progress.iteration, progress.residual,
                     progress.target);
}

}  // namespace

ProgressLine::ProgressLine() : terminal_(isatty(STDOUT_FILENO) == 1), next_time_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(const blockjacobi::SolveProgress& progress) {
  if (terminal_) return rewrite(progress);
  if (progress.iteration < next_iteration_) return;
  next_iteration_ = 2 * std::max(next_iteration_, progress.iteration / 2 + 1);
  fmt::print("{}\n", to_line(progress));
  std::fflush(stdout);
}

void ProgressLine::rewrite(const blockjacobi::SolveProgress& progress) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_time_) return;
  next_time_ = now + std::chrono::milliseconds(100);
  line_is_open_ = true;
  fmt::print("\r{}", to_line(progress));
  std::fflush(stdout);
}

void ProgressLine::finish() {
  if (line_is_open_) fmt::print("\n");
  line_is_open_ = false;
}

}  // namespace solve
