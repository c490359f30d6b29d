#pragma once

#include "progress_estimate.hpp"

#include <blockjacobi/solver.hpp>

#include <chrono>
#include <string>

namespace solve {

/// How much a run says of itself while it goes.
struct Narration {
  bool whole =
      true;  ///< every step and, without a terminal, residuals; else no more than a line on a terminal, wiped out
  std::string title;  ///< of that line
};

/// Shows how the residual falls and what is left: on a terminal one line with a bar that is rewritten a few times a
/// second, else a line at about every power of two, and after ten seconds without one.
class ProgressLine {
 public:
  explicit ProgressLine(Narration narration = {});
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { finish(); }

  void show(const blockjacobi::SolveProgress& progress);
  /// Makes room for what is printed next.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void rewrite(const blockjacobi::SolveProgress& progress);
  void add_line(const blockjacobi::SolveProgress& progress);

  Narration narration_;
  bool terminal_;
  bool line_is_open_ = false;
  blockjacobi::index_t next_iteration_ = 1;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_time_;
  ProgressEstimate estimate_;
};

}  // namespace solve
