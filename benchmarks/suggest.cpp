/// Whole solves of given systems with every choice of blocks and coarse level, beside what suggest() recommends, as
/// records for run.py suggest, one JSON object a line.
///
///   suggest OUT.jsonl --matrices FOLDER[:FOLDER ...] [--only NAME ...] [--least-rows 1000] [--most-entries N]
///   [--threads 16]
///           [--seconds 180] [--solve-seconds 1.5] [--repetitions 3] [--host]
///
/// A FOLDER holds NAME.mtx.gz and MANIFEST.tsv (see tables/suggest.py). Files are read by threads of the host, in
/// advance; the GPU, or with --host all CPU threads, solves one system after the other, each choice once for warming
/// up, with few iterations, and then some times, of which the fastest counts: blocks (or suggest()), set-up and solve,
/// from CSR to x in the backend's memory, b = A x with x random. The file grows with each system; after --seconds of
/// solves no other is begun.
#include "suggest/manifest.hpp"
#include "suggest/system.hpp"

#include <CLI/CLI.hpp>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <vector>

namespace {

using namespace bench;

struct Options {
  std::filesystem::path out;
  std::vector<std::filesystem::path> matrices;
  std::vector<std::string> only;
  long least_rows = 1000, most_entries = 1'000'000'000;
  int threads = 16;
  double seconds = 180.0;
  Effort effort;
  bool host = false;
};

/// Reads by threads, all before anything is timed: the host works on set-ups too.
std::vector<std::unique_ptr<PreparedSystem>> prepare_all(const Options& options) {
  const std::vector<ManifestRow> rows =
      read_manifests(options.matrices, options.least_rows, options.most_entries, options.only);
  std::vector<std::unique_ptr<PreparedSystem>> systems(rows.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::future<void>> threads;
  for (int t = 0; t < options.threads; ++t)
    threads.push_back(std::async(std::launch::async, [&] {
      // From the back, where the largest are.
      for (std::size_t i = next++; i < rows.size(); i = next++) {
        const std::size_t k = rows.size() - 1 - i;
        systems[k] = prepare(rows[k]);
      }
    }));
  for (auto& thread : threads) thread.get();
  return systems;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(const Options& options) {
  const blockjacobi::Backend backend = options.host ? blockjacobi::Backend::host() : blockjacobi::Backend::cuda();
  std::ofstream file(options.out);
  auto start = std::chrono::steady_clock::now();
  const auto systems = prepare_all(options);
  std::cout << systems.size() << " systems prepared in " << seconds_since(start) << " s\n";
  start = std::chrono::steady_clock::now();
  for (const auto& system : systems) {
    if (seconds_since(start) > options.seconds) {
      std::cout << "the time is over before " << system->name() << '\n';
      break;
    }
    const auto begin = std::chrono::steady_clock::now();
    system->solve_all(backend, options.effort, file);
    file.flush();
    std::cout << system->name() << ' ' << seconds_since(begin) << " s" << std::endl;
  }
  if (!file) throw std::runtime_error("cannot write " + options.out.string());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Solves systems with every choice of blocks and coarse level.", "suggest");
  app.add_option("OUT", options.out, "file of JSON objects, one a line")->required();
  app.add_option("--matrices", options.matrices, "folders of NAME.mtx.gz and MANIFEST.tsv")->delimiter(':')->required();
  app.add_option("--only", options.only, "these systems")->delimiter(',');
  app.add_option("--least-rows", options.least_rows, "of a system")->capture_default_str();
  app.add_option("--most-entries", options.most_entries, "of a system")->capture_default_str();
  app.add_option("--threads", options.threads, "that read files")->capture_default_str();
  app.add_option("--seconds", options.seconds, "after which no other system is begun")->capture_default_str();
  app.add_option("--solve-seconds", options.effort.solve_seconds, "limit of one solve")->capture_default_str();
  app.add_option("--repetitions", options.effort.repetitions, "of each solve")->capture_default_str();
  app.add_flag("--host", options.host, "solve on CPU threads instead of the GPU");
  CLI11_PARSE(app, argc, argv);
  try {
    run(options);
  } catch (const std::exception& error) {
    std::cerr << "suggest: " << error.what() << '\n';
    return 1;
  }
}
