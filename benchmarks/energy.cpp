/// Energy of a factorization or inversion: this library's kernels and the same of cuBLAS and cuSOLVER by NVML, and the
/// host backend by RAPL where its counters can be read, as records in JSON.
///
///   energy OUT.json [--cases lu:32,lu:128,lu:512,inverse:32,inverse:512,cholesky:128,qr:128]
///          [--seconds 3] [--no-host]
///
/// Matrices in double precision, batches as in `batched`. A call is repeated for that many seconds. Where it works in
/// place its input is copied back before every call; the time and the energy of a copy are measured on their own, and
/// taken off. What the rest of the machine draws is not in it.
#include "batched/device.hpp"
#include "batched/host_case.hpp"
#include "batched/operations.hpp"
#include "batched/report.hpp"
#include "energy/counters.hpp"
#include "energy/loop.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace {

using namespace bench;

struct Options {
  std::string out;
  std::vector<std::string> cases{"lu:32", "lu:128", "lu:512", "inverse:32", "inverse:512", "cholesky:128", "qr:128"};
  double seconds = 3;
  bool host = true;
};

/// What is spent on a call but for the copy of its input.
void add(Report& report, Measurement m, Spent call, Spent copy) {
  const double seconds = call.seconds - copy.seconds, joules = call.joules - copy.joules, ms = 1e3 * seconds;
  m.time = {ms, ms, ms};
  m.energy = {joules / static_cast<double>(m.batch), joules / seconds};
  std::cout << std::left << std::setw(10) << m.operation << std::setw(5) << m.n << std::setw(14) << m.implementation
            << std::right << std::setw(10) << ms << " ms " << std::setw(12) << 1e6 * m.energy->joules << " uJ a matrix "
            << std::setw(8) << m.energy->watts << " W" << std::endl;
  report.add(m);
}

class GpuLoops {
 public:
  GpuLoops(Device& device, double seconds) : device_(device), seconds_(seconds) {
    constexpr std::size_t bytes = std::size_t{2} << 30;
    const Buffer<char> from(bytes);
    Buffer<char> to(bytes);
    const Spent copy = repeat([&] { to.restore(from); });
    seconds_of_byte_ = copy.seconds / static_cast<double>(bytes);
    joules_of_byte_ = copy.joules / static_cast<double>(bytes);
  }

  void run(const std::string& operation, int n, Report& report) {
    Case<double> problem(device_, operation, n, 0, 2.0);
    for (const Way& way : problem.ways(true)) {
      const Spent call = repeat([&] {
        if (way.in_place) problem.restore();
        way.run();
      });
      const double copied = way.in_place ? problem.restored_bytes() : 0;
      add(report, problem.record(way.implementation, {}, std::nan("")), call,
          {copied * seconds_of_byte_, copied * joules_of_byte_});
    }
  }

 private:
  Spent repeat(const std::function<void()>& call) {
    return bench::repeat(
        seconds_, [this] { return energy_.joules(); },
        [&] {
          call();
          check(cudaDeviceSynchronize());
        });
  }

  Device& device_;
  GpuEnergy energy_;
  double seconds_, seconds_of_byte_ = 0, joules_of_byte_ = 0;
};

/// Without counters there is nothing to repeat; the record then says that there is no figure.
void run_host(const std::string& operation, int n, double seconds, std::optional<HostEnergy>& energy, Report& report) {
  const auto count = static_cast<std::size_t>(std::max(1, (1 << 23) / (n * n)));  // 64 MB
  HostCase<double> problem(blockjacobi::Backend::host(), operation, n, count);
  Measurement m{operation, "blockjacobi host", 'd', n, problem.count, {NAN, NAN, NAN}, NAN, NAN, NAN};
  if (!energy) {
    m.energy = {NAN, NAN};
    report.add(m);
    return;
  }
  const auto joules = [&] { return energy->joules(); };
  const Spent copy = problem.in_place() ? repeat(seconds / 4, joules, [&] { problem.restore(); }) : Spent{0, 0};
  const Spent call = repeat(seconds, joules, [&] {
    if (problem.in_place()) problem.restore();
    problem.run();
  });
  add(report, m, call, copy);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the energy of batched dense operations.", "energy");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--cases", options.cases, "OPERATION:ORDER, of lu, inverse, cholesky, qr")->delimiter(',');
  app.add_option("--seconds", options.seconds, "of every loop")->capture_default_str();
  app.add_flag("!--no-host", options.host, "without the host backend");
  CLI11_PARSE(app, argc, argv);
  try {
    Device device;
    Report report(device);
    GpuLoops gpu(device, options.seconds);
    std::optional<HostEnergy> host_energy = HostEnergy::open();
    for (const std::string& text : options.cases) {
      const std::size_t colon = text.find(':');
      if (colon == std::string::npos) throw std::runtime_error("'" + text + "' is not OPERATION:ORDER");
      const std::string operation = text.substr(0, colon);
      const int n = std::stoi(text.substr(colon + 1));
      gpu.run(operation, n, report);
      if (options.host) run_host(operation, n, options.seconds, host_energy, report);
    }
    report.write(options.out);
  } catch (const std::exception& error) {
    std::cerr << "energy: " << error.what() << '\n';
    return 1;
  }
}
