/// The design variants of batched LU and inversion for tiny matrices, and the library's kernels after them, as records
/// in JSON: threads in one or two dimensions, rows in shared memory or registers, eager or lazy interchange, matrices a
/// thread block, inversion in one launch or four (A. Abdelfattah, A. Haidar, S. Tomov, J. Dongarra, "Factorization and
/// inversion of a million matrices using GPUs: challenges and countermeasures", 2017).
///
///   ablation_getrf OUT.json [--orders 4,8,12,16,17,20,24,28,32] [--scalars sd] [--operations lu,inverse]
///                  [--sweep 1-16] [--matrices 1,2,4,8,16] [--repetitions 5] [--gigabytes 1] [--sources-sha256 HASH]
///
/// Matrices are random and dense, so that rows move at almost every step. Every result is compared with the host
/// backend's; a design that fails is left out of the record and ends the program with 1.
#include "ablations/study.hpp"
#include "batched/orders.hpp"
#include "batched/report.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

using namespace bench;

struct Options {
  std::string out, orders = "4,8,12,16,17,20,24,28,32", scalars = "sd", sweep = "1-16", matrices = "1,2,4,8,16";
  std::string sources;
  std::vector<std::string> operations{"lu", "inverse"};
  int repetitions = 5;
  double gigabytes = 1.0;
};

/// Prints one line a design: percent of the copy bandwidth, and of the numbers of matrices a thread block the best.
class Table {
 public:
  explicit Table(double copy_gbps) : copy_gbps_(copy_gbps) {}
  void add(const Measurement& m) {
    if (!lines_.empty() && lines_.back().implementation == m.implementation) {
      if (m.time.median < lines_.back().time.median) lines_.back() = m;
    } else {
      lines_.push_back(m);
    }
  }
  void print(std::ostream& out) {
    for (const Measurement& m : lines_) {
      out << std::left << std::setw(8) << m.operation << m.scalar << std::right << std::setw(3) << m.n << "  "
          << std::left << std::setw(30) << m.implementation << std::right << std::fixed << std::setprecision(3)
          << std::setw(8) << m.time.median << " ms" << std::setprecision(1) << std::setw(6)
          << m.bytes / m.time.median * 1e-4 / copy_gbps_ << " %";
      if (m.matrices_per_block > 0) out << std::setw(4) << m.matrices_per_block;
      out << '\n';
    }
    lines_.clear();
  }

 private:
  double copy_gbps_;
  std::vector<Measurement> lines_;
};

/// Returns how many designs were wrong.
template <class T>
int run(const Options& options, const Timer& timer, Report& report) {
  if (options.scalars.find(blockjacobi::to_char(blockjacobi::scalar_type<T>)) == std::string::npos) return 0;
  int wrong = 0;
  Table table(timer.copy_gbps);
  const typename Study<T>::Sweep sweep{parse_orders(options.sweep), parse_orders(options.matrices),
                                       options.repetitions};
  for (const int n : parse_orders(options.orders)) {
    Study<T> study(timer, n, options.gigabytes);
    for (const std::string& operation : options.operations) {
      study.run(
          operation, sweep,
          [&](const Measurement& m) {
            report.add(m);
            table.add(m);
          },
          [&](const Measurement& m) {
            ++wrong;
            std::cerr << m.operation << ' ' << m.scalar << ' ' << n << ' ' << m.implementation << " with "
                      << m.matrices_per_block << " matrices a thread block is wrong, scaled error " << m.error << '\n';
          });
      table.print(std::cout);
    }
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times the design variants of batched LU and inversion on the GPU.", "ablation_getrf");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--orders", options.orders, "out of 4,8,12,16,17,20,24,28,32")->capture_default_str();
  app.add_option("--scalars", options.scalars, "letters out of sd")->capture_default_str();
  app.add_option("--operations", options.operations, "lu, inverse")->delimiter(',');
  app.add_option("--sweep", options.sweep, "matrices a thread block, rows in registers")->capture_default_str();
  app.add_option("--matrices", options.matrices, "matrices a thread block, other designs")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "timed, of which the median counts")->capture_default_str();
  app.add_option("--gigabytes", options.gigabytes, "read and written by a call")->capture_default_str();
  app.add_option("--sources-sha256", options.sources, "hash of the sources, for the record");
  CLI11_PARSE(app, argc, argv);
  try {
    const Timer timer;
    Report report(timer, options.sources);
    const int wrong = run<float>(options, timer, report) + run<double>(options, timer, report);
    report.write(options.out);
    return wrong == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "ablation_getrf: " << error.what() << '\n';
    return 1;
  }
}
