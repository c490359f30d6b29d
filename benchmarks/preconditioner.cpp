/// The block-Jacobi preconditioner on the GPU, as records in JSON: products with the inverses in every storage, numeric
/// set-up from CSR beside the inversion of the same blocks alone, detection of blocks, construction from a stencil.
///
///   preconditioner OUT.json [--operations gemv,storage,transposed,columns,mixed,refresh,detect,clusters,construct]
///                  [--scalars sdcz] [--orders 1-32,33,40,...] [--complex-orders ...] [--storage-orders ...]
///                  [--gigabytes 2] [--parts]
///   preconditioner OUT.json --operations patterns [--stencils NAME,...] [--definite FILE ...] [--general FILE ...]
///
/// The blocks are random numbers; every product is compared with one in extended precision on a few blocks. Times are
/// medians; those of construction and clusters are the host's. "patterns" is construction, refresh and the inversion of
/// the same blocks of stencils in uniform blocks, and of files in detected blocks and in those of METIS.
#include "batched/orders.hpp"
#include "batched/report.hpp"
#include "batched/setup.hpp"
#include "preconditioner/apply.hpp"
#include "preconditioner/clusters.hpp"
#include "preconditioner/construct.hpp"
#include "preconditioner/detect.hpp"
#include "preconditioner/patterns.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>

namespace {

using namespace bench;

struct Options {
  std::string out, orders = "1-32,33,40,48,64,77,96,128,160,190,256,333,512", complex_orders = "4,8,16,24,32,64,128";
  std::string some_orders = "8,12,16,24,32,64,128,256", refresh_orders = "8,16,32,33,48,64,96,128,190,256,512";
  std::string scalars = "sdcz";
  std::vector<std::string> operations{"gemv",    "storage", "transposed", "columns",  "mixed",
                                      "refresh", "detect",  "clusters",   "construct"};
  std::vector<std::string> stencils{"7-point 128^3", "7-point 200^3", "27-point 64^3 3-dof"}, definite, general;
  double gigabytes = 2.0;
  bool parts = false;

  bool has(const std::string& operation) const {
    return std::find(operations.begin(), operations.end(), operation) != operations.end();
  }
  template <class T>
  bool has_scalar() const {
    return scalars.find(blockjacobi::to_char(blockjacobi::scalar_type<T>)) != std::string::npos;
  }
};

template <class T>
std::vector<ApplyCase> cases_of(const Options& options) {
  std::vector<ApplyCase> cases;
  const auto orders = parse_orders(blockjacobi::is_complex<T> ? options.complex_orders : options.orders);
  const auto some = parse_orders(options.some_orders);
  if (options.has("gemv"))
    for (const int n : orders) cases.push_back({n});
  if (blockjacobi::is_complex<T>) return cases;
  if (options.has("mixed"))
    for (const int n : {32, 128}) cases.push_back({n, true});
  if (options.has("transposed"))
    for (const int n : some) cases.push_back({n, false, Format::full, blockjacobi::Op::transpose});
  if (options.has("columns"))
    for (const int n : some) cases.push_back({n, false, Format::full, blockjacobi::Op::none, 8});
  if (options.has("storage"))
    for (const Format format : {Format::packed, Format::fp32, Format::bf16, Format::fp16})
      for (const int n : some)
        if (format != Format::fp32 || sizeof(T) > sizeof(float)) cases.push_back({n, false, format});
  return cases;
}

template <class T>
void run(const Options& options, Device& device, Report& report) {
  if (!options.has_scalar<T>()) return;
  if (std::vector<ApplyCase> cases = cases_of<T>(options); !cases.empty()) {
    RandomMemory<T> memory(1.05e9 * options.gigabytes,
                           static_cast<std::size_t>(0.55e9 * options.gigabytes / sizeof(T)));
    std::stable_sort(cases.begin(), cases.end(), [](const auto& a, const auto& b) { return a.format < b.format; });
    for (const ApplyCase& c : cases) report.add(measure_apply<T>(device, c, memory, options.gigabytes));
  }
  if (options.has("refresh") && !blockjacobi::is_complex<T>)
    for (const int n : parse_orders(options.refresh_orders))
      for (const Measurement& m : measure_refresh_and_inverse<T>(device, n, options.gigabytes)) report.add(m);
}

void run_construct(const Options& options, Device& device, Report& report) {
  for (const blockjacobi::index_t points : {25, 100, 200}) {
    const Construction construction(device, points);
    for (const ConstructCase c : {ConstructCase{8}, ConstructCase{8, true}, ConstructCase{3}}) {
      report.add(construction.measure(c));
      if (options.parts) construction.print_parts(c, std::cout);
    }
  }
}

void run_clusters(const Options& options, Device& device, Report& report) {
  for (const blockjacobi::index_t points : {64, 200}) {
    const Clustering clustering(device, points);
    report.add(clustering.measure());
    if (options.parts) clustering.print_phases(std::cout);
  }
}

template <class T>
void run_pattern(const Options& options, Device& device, const PatternSystem& system, Report& report) {
  if (!options.has_scalar<T>()) return;
  PatternSetup<T> setup(device, system);
  for (const PatternBlocks& blocks : system.blocks)
    for (const Measurement& m : setup.measure(blocks)) report.add(m);
}

void run_patterns(const Options& options, Device& device, Report& report) {
  const auto run_both = [&](const PatternSystem& system) {
    run_pattern<double>(options, device, system, report);
    run_pattern<float>(options, device, system, report);
  };
  for (const std::string& name : options.stencils) run_both(stencil_pattern(name));
  for (const bool is_definite : {true, false})
    for (const std::string& path : is_definite ? options.definite : options.general)
      for (const PatternSystem& system : file_patterns(path, is_definite)) run_both(system);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times the block-Jacobi preconditioner on the GPU.", "preconditioner");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--operations", options.operations,
                 "gemv, storage, transposed, columns, mixed, refresh, detect, clusters, construct; patterns")
      ->delimiter(',');
  app.add_option("--scalars", options.scalars, "letters out of sdcz")->capture_default_str();
  app.add_option("--orders", options.orders, "orders of gemv, as 1-8,16")->capture_default_str();
  app.add_option("--complex-orders", options.complex_orders, "orders of gemv in c and z")->capture_default_str();
  app.add_option("--some-orders", options.some_orders, "orders of storage, transposed and columns")
      ->capture_default_str();
  app.add_option("--refresh-orders", options.refresh_orders, "orders of refresh, and of the inversion alone")
      ->capture_default_str();
  app.add_option("--stencils", options.stencils, "systems of patterns, by name")->delimiter(',')->capture_default_str();
  app.add_option("--definite", options.definite, "Matrix Market files of patterns, symmetric positive definite");
  app.add_option("--general", options.general, "others");
  app.add_option("--gigabytes", options.gigabytes, "read and written by a call")->capture_default_str();
  app.add_flag("--parts", options.parts, "prints what the parts of a construction take, and the phases of clusters");
  CLI11_PARSE(app, argc, argv);
  try {
    Device device;
    Report report(device);
    run<float>(options, device, report);
    run<double>(options, device, report);
    run<std::complex<float>>(options, device, report);
    run<std::complex<double>>(options, device, report);
    if (options.has("detect")) {
      for (const int max_size : {8, 32}) report.add(measure_detect(device, 8, {.max_size = max_size}, 8'000'000));
      report.add(measure_detect(device, 8, {.merge = blockjacobi::Merge::coupled}, 8'000'000));
    }
    if (options.has("clusters")) run_clusters(options, device, report);
    if (options.has("construct")) run_construct(options, device, report);
    if (options.has("patterns")) run_patterns(options, device, report);
    report.write(options.out);
    report.print_table(std::cout);
  } catch (const std::exception& error) {
    std::cerr << "preconditioner: " << error.what() << '\n';
    return 1;
  }
}
