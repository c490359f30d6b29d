#include "progress.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <utility>

namespace solve {

namespace {

constexpr std::chrono::milliseconds between_rewrites{100};
constexpr std::chrono::seconds longest_silence{10};

std::string to_line(const blockjacobi::SolveProgress& progress) {
  return fmt::format("iteration {:>6}   ||r|| {:.3e}   target {:.3e}", progress.iteration, progress.residual,
                     progress.target);
}

/// "   about 12 s left", or nothing where nothing is known.
std::string time_left(const ProgressEstimate& estimate) {
  const auto seconds = estimate.seconds_left();
  constexpr double day = 86400.0;
  if (!seconds || *seconds > 100.0 * day) return "";
  if (*seconds < 1.0) return "   less than 1 s left";
  if (*seconds < 120.0) return fmt::format("   about {:.0f} s left", *seconds);
  if (*seconds < 7200.0) return fmt::format("   about {:.0f} min left", *seconds / 60.0);
  return fmt::format("   about {:.0f} h left", *seconds / 3600.0);
}

std::string bar(double share) {
  constexpr std::size_t width = 20;
  const auto full = static_cast<std::size_t>(share * static_cast<double>(width));
  return fmt::format("[{}{}] {:>3.0f} %", std::string(full, '#'), std::string(width - full, '-'), 100.0 * share);
}

/// What fits in a line of the terminal: a longer one would not be rewritten but repeated.
std::string fitted(std::string text) {
  winsize size{};
  const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return text.substr(0, is_known ? size.ws_col - 1U : text.size());
}

}  // namespace

ProgressLine::ProgressLine(Narration narration)
    : narration_(std::move(narration)),
      terminal_(isatty(STDOUT_FILENO) == 1),
      next_time_(terminal_ ? start_ : start_ + longest_silence) {}

void ProgressLine::show(const blockjacobi::SolveProgress& progress) {
  estimate_.add(progress, std::chrono::duration<double>(Clock::now() - start_).count());
  if (terminal_) return rewrite(progress);
  if (narration_.whole) add_line(progress);
}

void ProgressLine::add_line(const blockjacobi::SolveProgress& progress) {
  const auto now = Clock::now();
  if (progress.iteration < next_iteration_ && now < next_time_) return;
  while (next_iteration_ <= progress.iteration) next_iteration_ *= 2;
  next_time_ = now + longest_silence;
  fmt::print("  {}{}\n", to_line(progress), time_left(estimate_));
  std::fflush(stdout);
}

void ProgressLine::rewrite(const blockjacobi::SolveProgress& progress) {
  const auto now = Clock::now();
  if (now < next_time_) return;
  next_time_ = now + between_rewrites;
  line_is_open_ = true;
  fmt::print("\r{}\033[K", fitted(fmt::format("{}  {}   {}{}", narration_.title, bar(estimate_.share_done()),
                                              to_line(progress), time_left(estimate_))));
  std::fflush(stdout);
}

void ProgressLine::finish() {
  if (line_is_open_) fmt::print("{}", narration_.whole ? "\n" : "\r\033[K");
  line_is_open_ = false;
}

}  // namespace solve
