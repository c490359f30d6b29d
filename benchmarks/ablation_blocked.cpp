/// The design variants of batched LU and of the inversion after it above order 32, and the library's kernels after
/// them, as records in JSON: width of the panels, left- or right-looking, interchange of rows, delayed or timely
/// correction, resources of all panels or of each, levels of blocking. From the inversion paper, the multi-level paper
/// and the 2015 paper of docs/kernels/diary/variants.md.
///
///   ablation_blocked OUT.json [--orders 64,128,256,512] [--scalars d] [--operations lu,getri,larft]
///                    [--repetitions 5] [--matrices 2000] [--gigabytes 1]
///
/// Matrices are random and dense, so that rows move at almost every step. Results are compared with the host backend's;
/// a design that fails is left out of the record and ends the program with 1.
#include "ablations/study.hpp"
#include "ablations/summary.hpp"
#include "batched/orders.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

using namespace bench;

struct Options {
  std::string out, orders = "64,128,256,512", scalars = "d";
  std::vector<std::string> operations{"lu", "getri", "larft"};
  int repetitions = 5;
  std::size_t matrices = 2000;
  double gigabytes = 1.0;
};

/// Returns how many designs were wrong.
template <class T>
int run(const Options& options, const Timer& timer, Report& report) {
  if (options.scalars.find(blockjacobi::to_char(blockjacobi::scalar_type<T>)) == std::string::npos) return 0;
  Summary summary(report, timer.copy_gbps);
  for (const int n : parse_orders(options.orders)) {
    const auto enough = static_cast<std::size_t>(options.gigabytes * 1e9 / (2.0 * n * n * sizeof(T)));
    Study<T> study(timer, n, std::max(options.matrices, enough), options.repetitions);
    for (const std::string& operation : options.operations) {
      for (const Trial<T>& trial : operation == "lu"      ? blocked_lu_trials<T>(n)
                                   : operation == "getri" ? blocked_inverse_trials<T>()
                                                          : larft_trials<T>())
        summary.run(study, trial);
      if (operation != "larft") summary.run(study, study.library(operation));
      summary.print(std::cout);
    }
  }
  return summary.wrong();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times the design variants of batched LU and inversion above order 32 on the GPU.", "ablation_blocked");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--orders", options.orders, "multiples of 64 up to 512")->capture_default_str();
  app.add_option("--scalars", options.scalars, "letters out of sd")->capture_default_str();
  app.add_option("--operations", options.operations, "lu, getri, larft")->delimiter(',');
  app.add_option("--repetitions", options.repetitions, "timed, of which the median counts")->capture_default_str();
  app.add_option("--matrices", options.matrices, "of a call, at least")->capture_default_str();
  app.add_option("--gigabytes", options.gigabytes, "read and written by a call, at least")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const Timer timer;
    Report report(timer);
    const int wrong = run<float>(options, timer, report) + run<double>(options, timer, report);
    report.write(options.out);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "ablation_blocked: " << error.what() << '\n';
    return 1;
  }
}
