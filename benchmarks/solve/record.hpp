#pragma once

#include "batched/record_header.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <cstdio>
#include <string>
#include <vector>

namespace bench {

/// One line of solve.json; what was not measured stays NaN or empty.
struct SolveRecord {
  std::string operation, implementation, matrix, partition{}, solver{};
  blockjacobi::index_t rows = 0;
  blockjacobi::offset_t nnz = 0;
  blockjacobi::index_t block = 0;  ///< the largest; 0 without blocks
  blockjacobi::index_t iterations = 0;
  double setup_ms = NAN, solve_ms = NAN, time_ms = NAN, marginal_ms = NAN, floor_bytes = NAN, true_residual = NAN;
  std::string reason{};
  std::string storage = "full";  ///< of what the floor counts
};

class SolveReports {
 public:
  explicit SolveReports(double copy_gbps) : copy_gbps_(copy_gbps) {}

  void add(const SolveRecord& r) {
    records_.push_back(r);
    std::printf("%-16s %-22s %-10s %-20s %-12s block %3d %-8s", r.operation.c_str(), r.implementation.c_str(),
                r.storage.c_str(), r.matrix.c_str(), r.partition.c_str(), r.block, r.solver.c_str());
    if (std::isfinite(r.solve_ms))
      std::printf(" set-up %.2f + solve %.2f ms, %d iterations, residual %.1e, %s", r.setup_ms, r.solve_ms,
                  r.iterations, r.true_residual, r.reason.c_str());
    else
      std::printf(" %.4f ms, marginal %.4f, %.0f %% of its floor", r.time_ms, r.marginal_ms, 100.0 * fraction(r));
    std::printf("\n");
    std::fflush(stdout);
  }

  void write(const std::string& path) const {
    nlohmann::ordered_json json = record_header(copy_gbps_, NAN, clocks_);
    for (const SolveRecord& r : records_)
      json["records"].push_back({{"operation", r.operation},
                                 {"implementation", r.implementation},
                                 {"scalar", "d"},
                                 {"storage", r.storage},
                                 {"matrix", r.matrix},
                                 {"rows", r.rows},
                                 {"nnz", r.nnz},
                                 {"block", r.block},
                                 {"partition", r.partition},
                                 {"solver", r.solver},
                                 {"iterations", r.iterations},
                                 {"setup_ms", number(r.setup_ms)},
                                 {"solve_ms", number(r.solve_ms)},
                                 {"time_ms", number(r.time_ms)},
                                 {"marginal_ms", number(r.marginal_ms)},
                                 {"bytes", number(r.floor_bytes)},
                                 {"fraction_of_floor", number(fraction(r))},
                                 {"true_residual", number(r.true_residual)},
                                 {"reason", r.reason}});
    std::ofstream file(path);
    file << json.dump(1) << '\n';
    if (!file) throw std::runtime_error("cannot write " + path);
  }

 private:
  double fraction(const SolveRecord& r) const { return r.floor_bytes * 1e-6 / copy_gbps_ / r.time_ms; }

  double copy_gbps_;
  Clocks clocks_;
  std::vector<SolveRecord> records_;
};

}  // namespace bench
