/// Solves by CG and GMRES(30) with a coarse level over blocks, by its vectors, and CG with a multigrid over them, as
/// records in JSON.
///
///   two_level OUT.json [--systems "7-point 64^3","7-point 128^3 jumps",...] [--cg FILE.mtx.gz ...]
///             [--gmres FILE.mtx.gz ...] [--sizes 0,512,...] [--relaxed 0,4,...] [--no-multigrid]
///
/// Of files each number of relaxed vectors an aggregate is tried, 0 being ones; of model systems ones.
/// Each choice is set up from a matrix on the device ("krylov_solve"; of clusters, from the host's, which is renumbered
/// there) and then refreshed for the same values and solved again ("refresh_solve", where set-up is the refresh):
/// medians of the repetitions. Jumps: coefficients up to 1000. b = A x with x random: a coarse space of ones holds x
/// = 1.
#include "batched/timer.hpp"
#include "right_hand_side.hpp"
#include "solve/model_system.hpp"
#include "solve/record.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>
#include <variant>

namespace {

using namespace bench;
using namespace blockjacobi;

struct Options {
  std::string out;
  std::vector<std::string> systems{"7-point 64^3", "7-point 64^3 jumps", "7-point 128^3", "7-point 128^3 jumps"};
  std::vector<std::string> cg, gmres;
  std::vector<index_t> relaxed{0, 4, 8};
  std::vector<index_t> sizes{0, 128, 512, 1024, 2048, 4096};
  std::vector<index_t> clusters{0, 8, 32};
  bool multigrid = true;
  int repetitions = 5;
};

/// What goes above the blocks: nothing, a TwoLevel of a size, or a Multigrid.
struct Choice {
  index_t size = 0, relaxed = 0;
  bool multigrid = false;
};

double ms(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since).count();
}

class TwoLevelBenchmark {
 public:
  TwoLevelBenchmark(const Backend& backend, const std::string& name, const CsrMatrix<double>& matrix, bool by_cg)
      : backend_(backend), name_(name), host_(matrix), by_cg_(by_cg) {}

  void run(const Options& options, const std::vector<index_t>& relaxed, SolveReports& reports) {
    const SparseMatrix<double> given(backend_, host_);
    for (const index_t clusters : options.clusters)
      for (const index_t vectors : relaxed) measure(given, clusters, vectors, options, reports);
  }

 private:
  /// A matrix as a user has it on the device, of which nothing is known yet, with all that a solve asks for.
  struct System {
    System(const SparseMatrix<double>& given, index_t clusters, const Choice& choice)
        : A(std::visit([&](const auto& m) { return SparseMatrix<double>::adopt(given.backend(), m); }, given.view())) {
      BlockPartition blocks = BlockPartition::uniform(A.rows(), 8);
      if (clusters > 0) {
        const PermutedPartition found = BlockPartition::clusters(A, clusters);
        A = A.renumbered(found.permutation);
        blocks = found.blocks;
      }
      jacobi.emplace(A, blocks);
      if (choice.size > 0)
        two_level.emplace(A, std::move(*jacobi), TwoLevelOptions{.size = choice.size, .relaxed = choice.relaxed});
      if (choice.multigrid) multigrid.emplace(A, std::move(*jacobi));
      largest_block = blocks.largest_block();
    }
    void refresh(const SparseMatrix<double>& given) {
      if (A.values() != given.values()) A.update_values(given.values(), given.nnz(), A.backend().memory_space());
      if (two_level)
        two_level->refresh();
      else if (multigrid)
        multigrid->refresh();
      else
        jacobi->refresh(A.values(), A.nnz(), A.backend().memory_space());
    }
    Preconditioner<double> preconditioner() const {
      return two_level   ? Preconditioner<double>(*two_level)
             : multigrid ? Preconditioner<double>(*multigrid)
                         : Preconditioner<double>(*jacobi);
    }

    SparseMatrix<double> A;
    std::optional<BlockJacobi<double>> jacobi;
    std::optional<TwoLevel<double>> two_level;
    std::optional<Multigrid<double>> multigrid;
    index_t largest_block = 0;
  };

  void measure(const SparseMatrix<double>& given, index_t clusters, index_t relaxed, const Options& options,
               SolveReports& reports) {
    std::vector<Choice> choices;
    for (const index_t size : options.sizes)
      if (size > 0 || relaxed == 0) choices.push_back({.size = size, .relaxed = relaxed});
    if (by_cg_ && relaxed == 0 && options.multigrid) choices.push_back({.multigrid = true});
    index_t last = -1;
    for (const Choice& choice : choices) {
      std::optional<System> system;
      std::vector<double> first_times;
      for (int i = 0; i <= options.repetitions; ++i) {  // the first one starts libraries, and does not count
        system.reset();
        backend_.synchronize();
        const auto start = std::chrono::steady_clock::now();
        system.emplace(given, clusters, choice);
        backend_.synchronize();
        if (i > 0) first_times.push_back(ms(start));
      }
      std::ranges::sort(first_times);
      const double first_ms = first_times[first_times.size() / 2];
      const LinearOperator<double> A(system->A);
      // Fewer aggregates than were allowed: a larger order allowed is the same choice.
      if (choice.size > 0 && std::exchange(last, system->two_level->report().size) == system->two_level->report().size)
        continue;

      const std::string blocks = clusters > 0 ? "clusters " + std::to_string(clusters) : "uniform 8";
      SolveRecord r{"krylov_solve", "blockjacobi", name_, blocks, by_cg_ ? "cg" : "gmres", given.rows(), given.nnz()};
      r.block = system->largest_block;
      if (choice.multigrid) r.partition += " + multigrid";
      if (choice.size > 0)
        r.partition += " + " + (relaxed > 0 ? std::to_string(relaxed) + " relaxed " : "ones ") + std::to_string(last);
      const Array<double> b = right_hand_side(A, false);
      std::vector<std::pair<double, double>> times;
      for (int i = 0; i <= options.repetitions; ++i) {
        backend_.synchronize();
        auto start = std::chrono::steady_clock::now();
        system->refresh(given);
        backend_.synchronize();
        const double refresh_ms = ms(start);
        start = std::chrono::steady_clock::now();
        Array<double> x(backend_, b.size());
        x.zero();
        const SolveReport report = by_cg_ ? cg(A, system->preconditioner(), b.view(), x.view(), {})
                                          : gmres(A, system->preconditioner(), b.view(), x.view(), {});
        const double solve_ms = ms(start);
        r.iterations = report.iterations;
        r.true_residual = report.relative_residual();
        r.reason = to_string(report.reason);
        if (i > 0 || !report.converged()) times.emplace_back(refresh_ms, solve_ms);
        if (!report.converged()) break;  // up to max_iterations, each time
      }
      std::ranges::sort(times, {}, [](const auto& t) { return t.first + t.second; });
      const auto [refresh_ms, solve_ms] = times[times.size() / 2];
      r.solve_ms = solve_ms;
      r.setup_ms = first_ms;
      r.time_ms = first_ms + solve_ms;
      reports.add(r);
      r.operation = "refresh_solve";
      r.setup_ms = refresh_ms;
      r.time_ms = refresh_ms + solve_ms;
      reports.add(r);
      reports.write(options.out);
    }
  }

  Backend backend_;
  std::string name_;
  CsrMatrix<double> host_;
  bool by_cg_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Times solves with a coarse level on the GPU.", "two_level");
  app.add_option("OUT", options.out, "JSON file")->required();
  app.add_option("--systems", options.systems, "model problems; none: an empty name")->delimiter(',');
  app.add_option("--cg", options.cg, "Matrix Market files of definite matrices");
  app.add_option("--gmres", options.gmres, "Matrix Market files of others");
  app.add_option("--relaxed", options.relaxed, "vectors an aggregate, 0: ones")->delimiter(',');
  app.add_option("--sizes", options.sizes, "orders of the coarse matrix at most, 0: none")->delimiter(',');
  app.add_flag("--multigrid,!--no-multigrid", options.multigrid, "with a multigrid, too");
  app.add_option("--clusters", options.clusters, "rows of a cluster at most, 0: uniform blocks of 8")->delimiter(',');
  app.add_option("--repetitions", options.repetitions, "solves of each kind")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    const Backend backend = Backend::cuda();
    SolveReports reports(Timer().copy_gbps);
    const auto run_files = [&](const std::vector<std::string>& paths, bool by_cg) {
      for (const std::string& path : paths) {
        const std::string file = std::filesystem::path(path).filename().string();
        TwoLevelBenchmark(backend, file.substr(0, file.find('.')), read_matrix_market<double>(path), by_cg)
            .run(options, options.relaxed, reports);
      }
    };
    run_files(options.cg, true);
    run_files(options.gmres, false);
    for (const std::string& name : options.systems) {
      if (name.empty()) continue;
      const std::size_t jumps = name.find(" jumps");
      ModelSystem system = model_system(name.substr(0, jumps));
      if (jumps != std::string::npos) system.stencil.contrast = 1000.0;
      TwoLevelBenchmark(backend, name, matrices::stencil<double>(system.stencil), true).run(options, {0}, reports);
    }
  } catch (const std::exception& error) {
    std::cerr << "two_level: " << error.what() << '\n';
    return 1;
  }
}
