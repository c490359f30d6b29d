#pragma once

#include "ablations/design.hpp"
#include "batched/report.hpp"

#include <iomanip>
#include <iostream>

namespace bench {

/// Runs trials, puts those with right results on record, and prints a line for each design: percent of the copy
/// bandwidth, with the best number of matrices a thread block, or width of panels.
class Summary {
 public:
  Summary(Report& report, double copy_gbps) : report_(report), copy_gbps_(copy_gbps) {}

  template <class Study, class Trial>
  void run(Study& study, const Trial& trial) {
    study.run(
        trial, [this](const Measurement& m) { accept(m); }, [this](const Measurement& m) { reject(m); });
  }

  void print(std::ostream& out) {
    for (const Measurement& m : lines_) {
      out << std::left << std::setw(8) << m.operation << m.scalar << std::right << std::setw(4) << m.n << "  "
          << std::left << std::setw(30) << m.implementation << std::right << std::fixed << std::setprecision(3)
          << std::setw(8) << m.time.median << " ms" << std::setprecision(1) << std::setw(6)
          << m.bytes / m.time.median * 1e-4 / copy_gbps_ << " %";
      if (varied(m) > 0) out << std::setw(4) << varied(m);
      out << '\n';
    }
    out.flush();
    lines_.clear();
  }

  /// How many trials had wrong results.
  int wrong() const { return wrong_; }

 private:
  static int varied(const Measurement& m) { return std::max(m.matrices_per_cta, m.panel_width); }

  void accept(const Measurement& m) {
    report_.add(m);
    const auto same = std::find_if(lines_.begin(), lines_.end(),
                                   [&](const Measurement& line) { return line.implementation == m.implementation; });
    if (same == lines_.end())
      lines_.push_back(m);
    else if (m.time.median < same->time.median)
      *same = m;
  }
  void reject(const Measurement& m) {
    ++wrong_;
    std::cerr << m.operation << ' ' << m.scalar << ' ' << m.n << ' ' << m.implementation;
    if (varied(m) > 0) std::cerr << " with " << varied(m);
    std::cerr << " is wrong, scaled error " << m.error << '\n';
  }

  Report& report_;
  double copy_gbps_;
  std::vector<Measurement> lines_;
  int wrong_ = 0;
};

}  // namespace bench
