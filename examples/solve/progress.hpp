#pragma once

#include <blockjacobi/solver.hpp>

#include <chrono>

namespace solve {

/// Shows how the residual falls: on a terminal one line that is rewritten a few times a second, else a line at about
/// every power of two.
class ProgressLine {
 public:
  ProgressLine();
  void show(const blockjacobi::SolveProgress& progress);
  /// Makes room for what is printed next.
  void finish();

 private:
  void rewrite(const blockjacobi::SolveProgress& progress);

  bool terminal_;
  bool line_is_open_ = false;
  blockjacobi::index_t next_iteration_ = 1;
  std::chrono::steady_clock::time_point next_time_;
};

}  // namespace solve
