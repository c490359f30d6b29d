/// The design variants of batched LU and inversion for tiny matrices, and the library's kernels after them, as records
/// in JSON: threads in one or two dimensions, rows in shared memory or registers, eager or lazy interchange, matrices a
/// thread block, inversion in one launch or four. From the 2017 paper of docs/kernels/diary/variants.md. And the
/// library's inverse of positive definite matrices, without a search for pivots, beside that of any matrix.
///
///   ablation_getrf OUT.json [--orders 4,8,12,16,17,20,24,28,32] [--scalars sd] [--operations lu,inverse,spd_inverse]
///                  [--sweep 1-16] [--matrices 1,2,4,8,16] [--repetitions 5] [--gigabytes 1]
///
/// Matrices are random and dense, so that rows move at almost every step. Every result is compared with the host
/// backend's; a design that fails is left out of the record and ends the program with 1.
#include "ablations/study.hpp"
#include "ablations/summary.hpp"
#include "batched/orders.hpp"
#include "batched/report.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

using namespace bench;

struct Options {
  std::string out, orders = "4,8,12,16,17,20,24,28,32", scalars = "sd", sweep = "1-16", matrices = "1,2,4,8,16";
  std::vector<std::string> operations{"lu", "inverse", "spd_inverse"};
  int repetitions = 5;
  double gigabytes = 1.0;
};

/// The designs with all numbers of matrices a thread block that they can take.
template <class T>
std::vector<Trial<T>> trials(const Options& options, const std::string& operation, int n) {
  const std::vector<int> sweep = parse_orders(options.sweep), some = parse_orders(options.matrices);
  std::vector<Trial<T>> all;
  if (operation == "spd_inverse") return all;
  for (const Design<T>& design : operation == "lu" ? lu_designs<T>(n) : inverse_designs<T>(n))
    for (const int matrices : design.swept ? sweep : some)
      if (matrices <= design.most_matrices)
        all.push_back({operation, design.name,
                       [run = design.run, matrices](const AblationBatch<T>& b) { run(b, matrices); }, matrices});
  return all;
}

/// Returns how many designs were wrong.
template <class T>
int run(const Options& options, const Timer& timer, Report& report) {
  if (options.scalars.find(blockjacobi::to_char(blockjacobi::scalar_type<T>)) == std::string::npos) return 0;
  Summary summary(report, timer.copy_gbps);
  for (const int n : parse_orders(options.orders)) {
    const double bytes_of_one = 2.0 * n * n * sizeof(T);
    const auto batch = static_cast<std::size_t>(options.gigabytes * 1e9 / bytes_of_one);
    for (const std::string& operation : options.operations) {
      const bool definite = operation == "spd_inverse";
      Study<T> study(timer, n, batch, options.repetitions, definite ? Matrices::definite : Matrices::general);
      if (definite) summary.run(study, Trial<T>{operation, "general", study.library("inverse").run});
      for (const Trial<T>& trial : trials<T>(options, operation, n)) summary.run(study, trial);
      summary.run(study, study.library(operation));
      summary.print(std::cout);
    }
  }
  return summary.wrong();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times the design variants of batched LU and inversion on the GPU.", "ablation_getrf");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--orders", options.orders, "out of 4,8,12,16,17,20,24,28,32")->capture_default_str();
  app.add_option("--scalars", options.scalars, "letters out of sd")->capture_default_str();
  app.add_option("--operations", options.operations, "lu, inverse, spd_inverse")->delimiter(',');
  app.add_option("--sweep", options.sweep, "matrices a thread block, rows in registers")->capture_default_str();
  app.add_option("--matrices", options.matrices, "matrices a thread block, other designs")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "timed, of which the median counts")->capture_default_str();
  app.add_option("--gigabytes", options.gigabytes, "read and written by a call")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const Timer timer;
    Report report(timer);
    const int wrong = run<float>(options, timer, report) + run<double>(options, timer, report);
    report.write(options.out);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "ablation_getrf: " << error.what() << '\n';
    return 1;
  }
}
