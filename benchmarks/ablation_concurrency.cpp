/// Many matrices at once or one after the other, as records in JSON. On the GPU the rank-k updates of a blocked LU by
/// cuBLAS: a call of gemm for each matrix on 1 to 32 streams, against one call for all (gemmBatched,
/// gemmStridedBatched). On the host factorizations with one core a matrix, by the host backend and by LAPACK, against
/// LAPACK with all cores on one matrix after the other. From the 2015 paper of docs/kernels/diary/variants.md.
///
///   ablation_concurrency OUT.json [--orders 64,128,256,512] [--widths 16,32] [--matrices 1000]
///                        [--host-orders 32,64,128,256,512] [--host-operations lu,cholesky,qr] [--threads 0]
///                        [--seconds 0.05] [--lapack libopenblas.so.0,libmkl_rt.so.2,liblapack.so.3]
///                        [--scalars sd]
///
/// Orders 0 leave a part out. The LAPACK is the first of the libraries that is there; without one the host backend is
/// alone. Without a GPU the host's part is printed, and there is no record. Matrices are random and dense. A result
/// that is wrong is left out of the record and ends the program with 1.
#include "ablations/host_cores.hpp"
#include "ablations/update_study.hpp"
#include "batched/orders.hpp"
#include "batched/report.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

using namespace bench;

struct Options {
  std::string out, orders = "64,128,256,512", widths = "16,32", host_orders = "32,64,128,256,512", scalars = "sd";
  std::vector<std::string> host_operations{"lu", "cholesky", "qr"},
      lapack{"libopenblas.so.0", "libmkl_rt.so.2", "liblapack.so.3"};
  int matrices = 1000, threads = 0;
  double seconds = 0.05;

  template <class T>
  bool has() const {
    return scalars.find(blockjacobi::to_char(blockjacobi::scalar_type<T>)) != std::string::npos;
  }
};

std::vector<int> positive_orders(const std::string& text) {
  std::vector<int> orders = parse_orders(text);
  std::erase_if(orders, [](int n) { return n <= 0; });
  return orders;
}

/// Prints results as they come, and keeps those that are right.
class Results {
 public:
  void add(const std::vector<Measurement>& measurements) {
    for (const Measurement& m : measurements) {
      const bool right = m.error <= largest_error;
      std::cout << std::left << std::setw(12) << m.operation << m.scalar << std::right << std::setw(4) << m.n << "  "
                << std::left << std::setw(23) << m.implementation << std::right << std::setw(3)
                << (m.streams > 0 ? std::to_string(m.streams) : "") << std::fixed << std::setprecision(3)
                << std::setw(10) << m.time.median << " ms" << std::setprecision(1) << std::setw(10)
                << m.flops / m.time.median * 1e-6 << " Gflop/s" << (right ? "" : "  WRONG") << std::endl;
      if (right)
        right_.push_back(m);
      else
        ++wrong_;
    }
  }
  const std::vector<Measurement>& right() const { return right_; }
  int wrong() const { return wrong_; }

 private:
  static constexpr double largest_error = 10;

  std::vector<Measurement> right_;
  int wrong_ = 0;
};

template <class T>
void run_updates(const Options& options, Device& device, Results& results) {
  if (!options.has<T>()) return;
  const Streams streams(UpdateStudy<T>::most_streams);
  for (const int n : positive_orders(options.orders)) {
    UpdateStudy<T> study(device, streams, n, options.matrices);
    for (const int width : parse_orders(options.widths)) {
      if (width <= 0 || width > n / 2) continue;
      results.add(study.measure(trailing_update(n, width)));
      results.add(study.measure(panel_update(n, width)));
    }
  }
}

template <class T>
void run_host(const Options& options, const blockjacobi::Backend& backend, const std::optional<LapackLibrary>& library,
              Results& results) {
  if (!options.has<T>()) return;
  const HostCores<T> cores(backend, library, options.seconds);
  for (const std::string& operation : options.host_operations)
    for (const int n : positive_orders(options.host_orders)) results.add(cores.measure(operation, n));
}

/// As /proc/cpuinfo calls it.
std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times many matrices at once against one after the other.", "ablation_concurrency");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--orders", options.orders, "of the updates, at least twice the width; 0 is none")
      ->capture_default_str();
  app.add_option("--widths", options.widths, "columns of a panel")->capture_default_str();
  app.add_option("--matrices", options.matrices, "with updates, in a call")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--host-orders", options.host_orders, "0 is none")->capture_default_str();
  app.add_option("--host-operations", options.host_operations, "lu, cholesky, qr")
      ->check(CLI::IsMember({"lu", "cholesky", "qr"}))
      ->delimiter(',');
  app.add_option("--threads", options.threads, "of the host, 0 takes OpenMP's default")->capture_default_str();
  app.add_option("--seconds", options.seconds, "that a way on the host is repeated for")->capture_default_str();
  app.add_option("--lapack", options.lapack, "libraries, of which the first that is there is taken")->delimiter(',');
  app.add_option("--scalars", options.scalars, "letters out of sd")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const auto backend = blockjacobi::Backend::host(options.threads);
    const std::optional<LapackLibrary> library = LapackLibrary::open(options.lapack);
    const std::string lapack = library ? library->description() : "none";
    std::cout << processor() << ", " << backend.threads() << " threads; LAPACK: " << lapack << std::endl;
    if (library && !library->set_threads(1))
      std::cout << "its threads cannot be set: it is measured with one core a matrix alone\n";

    std::optional<Device> device;
    if (blockjacobi::Backend::cuda_available()) device.emplace();
    Results results;
    run_host<float>(options, backend, library, results);
    run_host<double>(options, backend, library, results);
    if (device) {
      run_updates<float>(options, *device, results);
      run_updates<double>(options, *device, results);
      Report report(*device);
      report.add_to_head("processor", processor());
      report.add_to_head("lapack", lapack);
      for (const Measurement& m : results.right()) report.add(m);
      report.write(options.out);
    } else {
      std::cout << "no GPU: there is no record\n";
    }
    return results.wrong() == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "ablation_concurrency: " << error.what() << '\n';
    return 1;
  }
}
