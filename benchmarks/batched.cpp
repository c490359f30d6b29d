/// The batched dense operations and the same operations of cuBLAS and cuSOLVER on the same matrices, as records in
/// JSON.
///
///   batched OUT.json [--orders 1-32,33,64] [--complex-orders 4,8,16] [--peer-orders 4,8,12] [--scalars sdcz]
///           [--operations inverse,lu,cholesky,spd_inverse,qr,getrs,potrs,extract_invert]
///           [--gigabytes 2] [--batch COUNT]
///
/// Up to order 32 a call moves --gigabytes; above it takes 10 000 matrices, from 256 on 2 000, unless --batch says
/// otherwise. extract_invert is left out above 32. getrs and potrs solve for 1, 16 and N right-hand sides.
/// Matrices are random and dense, so that rows move at almost every step; those for Cholesky are random too, but for a
/// dominant diagonal. Inputs are restored outside the timed part. Times are medians.
#include "batched/device.hpp"
#include "batched/operations.hpp"
#include "batched/orders.hpp"
#include "batched/report.hpp"
#include "batched/setup.hpp"
#include "batched/solves.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <fstream>
#include <iostream>

namespace {

using namespace bench;

struct Options {
  std::string out, orders = "1-32,33,40,48,64,77,96,128,160,190,256,333,512",
                   complex_orders = "4,8,16,24,32,64,128,190",
                   peer_orders = "4,8,12,16,20,24,28,32,33,40,48,64,77,96,128,160,190,256,333,512";
  std::string scalars = "sdcz";
  std::vector<std::string> operations{"inverse", "lu",    "cholesky", "spd_inverse",
                                      "qr",      "getrs", "potrs",    "extract_invert"};
  double gigabytes = 2.0;
  std::size_t batch = 0;
};

template <class T>
void run(const Options& options, Device& device, Report& report) {
  if (options.scalars.find(blockjacobi::to_char(blockjacobi::scalar_type<T>)) == std::string::npos) return;
  const std::vector<int> peers = parse_orders(options.peer_orders);
  for (const std::string& operation : options.operations)
    for (const int n : parse_orders(blockjacobi::is_complex<T> ? options.complex_orders : options.orders)) {
      if (operation == "extract_invert") {
        if (n <= 32) report.add(measure_setup<T>(device, n, options.gigabytes));
        continue;
      }
      const bool with_peers = std::find(peers.begin(), peers.end(), n) != peers.end();
      const bool solves = operation == "getrs" || operation == "potrs";
      for (const Measurement& m :
           solves ? Solves<T>(device, operation, n, options.batch, options.gigabytes).measure(with_peers)
                  : Case<T>(device, operation, n, options.batch, options.gigabytes).measure(with_peers))
        report.add(m);
    }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times batched dense operations on the GPU.", "batched");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--orders", options.orders, "orders, as 1-8,16")->capture_default_str();
  app.add_option("--scalars", options.scalars, "letters out of sdcz")->capture_default_str();
  app.add_option("--operations", options.operations,
                 "inverse, lu, cholesky, spd_inverse, qr, getrs, potrs, extract_invert")
      ->delimiter(',');
  app.add_option("--complex-orders", options.complex_orders, "orders of c and z")->capture_default_str();
  app.add_option("--peer-orders", options.peer_orders, "orders at which cuBLAS and cuSOLVER run too; 0 is none")
      ->capture_default_str();
  app.add_option("--gigabytes", options.gigabytes, "read and written by a call")->capture_default_str();
  app.add_option("--batch", options.batch, "matrices of a call; 0 lets the order decide")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    Device device;
    Report report(device);
    run<float>(options, device, report);
    run<double>(options, device, report);
    run<std::complex<float>>(options, device, report);
    run<std::complex<double>>(options, device, report);
    report.write(options.out);
    report.print_table(std::cout);
  } catch (const std::exception& error) {
    std::cerr << "batched: " << error.what() << '\n';
    return 1;
  }
}
