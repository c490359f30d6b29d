#include "options.hpp"

#include "option_files.hpp"
#include "plot.hpp"
#include "usage_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace solve {

using blockjacobi::BackendKind;
using blockjacobi::Resident;
using blockjacobi::ScalarType;
using blockjacobi::SingularPolicy;
using blockjacobi::Storage;

namespace {

constexpr std::string_view labels_prefix = "labels:";
constexpr std::string_view vectors_prefix = "vectors:";
constexpr std::string_view multigrid_prefix = "multigrid:";
constexpr std::string_view relaxed_prefix = "relaxed:";
constexpr double seconds_of_a_candidate = 60.0;

/// The words of the command line before they are given a meaning.
struct Words {
  std::string matrix, solver = "auto", blocks = "auto", block_size = "auto", unknowns = "auto", coarse = "auto",
                      coarse_size = "auto", backend = "auto", scalar = "auto", storage = "full",
                      singular = "scalar_jacobi", rhs = "random", resident = "auto", x0, json, history, plot, solution;
  int threads = 0;
};

/// The values of one option: those that this version has, and those that are defined but come later.
template <class Value>
struct Choice {
  const char* option;
  std::vector<std::pair<std::string, Value>> available;
  std::vector<std::string> later = {};
};

template <class Value>
Value choose(const Choice<Value>& choice, const std::string& word) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choice.available) {
    if (name == word) return value;
    names.push_back(name);
  }
  if (std::find(choice.later.begin(), choice.later.end(), word) != choice.later.end())
    throw UsageError(fmt::format("{} {}: this value is known, but not available in version {}; available: {}",
                                 choice.option, word, blockjacobi::version, fmt::join(names, ", ")));
  throw UsageError(fmt::format("{}: there is no value '{}'; allowed: {}", choice.option, word, fmt::join(names, ", ")));
}

Choice<std::optional<Solver>> solver_choice() {
  Choice<std::optional<Solver>> choice{"--solver", {{"auto", {}}}};
  for (const SolverTraits& one : solvers) choice.available.emplace_back(one.name, one.solver);
  return choice;
}

std::string solver_help() {
  std::string names;
  for (const SolverTraits& one : solvers) names += fmt::format("{}{}{}", names.empty() ? "" : ", ", one.name, one.note);
  return "auto: cg if the file says symmetric (real) or hermitian, else gmres, and gmres after a cg that finds it "
         "indefinite; " +
         names;
}

const Choice<std::optional<BackendKind>>& backends() {
  static const Choice<std::optional<BackendKind>> choice{
      "--backend", {{"auto", {}}, {"host", BackendKind::host}, {"cuda", BackendKind::cuda}}};
  return choice;
}

const Choice<std::optional<ScalarType>>& scalars() {
  static const Choice<std::optional<ScalarType>> choice{
      "--scalar",
      {{"auto", {}}, {"s", ScalarType::s}, {"d", ScalarType::d}, {"c", ScalarType::c}, {"z", ScalarType::z}}};
  return choice;
}

const Choice<SingularPolicy>& singular_policies() {
  static const Choice<SingularPolicy> choice{"--singular",
                                             {{"fail", SingularPolicy::fail},
                                              {"identity", SingularPolicy::identity},
                                              {"scalar_jacobi", SingularPolicy::scalar_jacobi},
                                              {"shift", SingularPolicy::shift},
                                              {"pseudo_inverse", SingularPolicy::pseudo_inverse}}};
  return choice;
}

const Choice<Storage>& storages() {
  static const Choice<Storage> choice = [] {
    Choice<Storage> all{"--storage", {}};
    for (int k = 0; k < blockjacobi::storage_count; ++k)
      all.available.emplace_back(to_string(static_cast<Storage>(k)), static_cast<Storage>(k));
    return all;
  }();
  return choice;
}

const Choice<Resident>& residents() {
  static const Choice<Resident> choice{"--resident", {{"auto", Resident::automatic}, {"never", Resident::never}}};
  return choice;
}

/// What --blocks names; a word that is none of these is a file of block pointers.
Blocks block_source(const std::string& word) {
  static const std::vector<std::pair<std::string, Blocks>> names{
      {"auto", Blocks::automatic},  {"detect", Blocks::detect},     {"supervariables", Blocks::supervariables},
      {"coupled", Blocks::coupled}, {"clusters", Blocks::clusters}, {"metis", Blocks::metis},
      {"suggest", Blocks::suggest}, {"uniform", Blocks::uniform}};
  for (const auto& [name, source] : names)
    if (name == word) return source;
  return word.starts_with(labels_prefix) ? Blocks::labels : Blocks::file;
}

/// A number of rows or vectors; none for "auto".
std::optional<index_t> size_or_auto(const char* option, const std::string& word,
                                    index_t largest = blockjacobi::max_block_size) {
  if (word == "auto") return std::nullopt;
  index_t size = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
  if (error != std::errc{} || end != word.data() + word.size() || size < 1 || size > largest)
    throw UsageError(fmt::format("{}: '{}' is neither auto nor in 1..{}", option, word, largest));
  return size;
}

index_t block_size(const std::string& word, Blocks blocks) {
  const auto stated = size_or_auto("--block-size", word);
  if (!stated) return Options{}.block_size;
  const index_t size = *stated;
  if (blocks == Blocks::file || blocks == Blocks::labels)
    throw UsageError(fmt::format("--block-size {}: the blocks come from a file, which states their sizes", size));
  if (blocks == Blocks::supervariables)
    throw UsageError(fmt::format("--block-size {}: --blocks supervariables takes them as they are", size));
  if (blocks == Blocks::suggest)
    throw UsageError(fmt::format("--block-size {}: --blocks suggest chooses the sizes itself", size));
  return size;
}

void check_numbers(const Options& options) {
  if (!(options.rtol > 0.0 && options.rtol < 1.0))
    throw UsageError(fmt::format("--rtol: {} is not between 0 and 1", options.rtol));
  if (options.max_iterations < 1)
    throw UsageError(fmt::format("--max-iterations: {} is not positive", options.max_iterations));
  if (!(options.block_tolerance >= 0.0 && options.block_tolerance < 1.0))
    throw UsageError(fmt::format("--block-tolerance: {} is not in [0, 1)", options.block_tolerance));
  if (!(options.coupling >= 0.0))
    throw UsageError(fmt::format("--coupling: {} is no number from 0 on", options.coupling));
  if (options.restart < 1) throw UsageError(fmt::format("--restart: {} is not positive", options.restart));
  if (!(options.accuracy > 0.0)) throw UsageError(fmt::format("--accuracy: {} is not positive", options.accuracy));
  if (!(options.relaxation > 0.0) || !std::isfinite(options.relaxation))
    throw UsageError(fmt::format("--relaxation: {} is not positive and finite", options.relaxation));
  if (!(options.max_seconds >= 0.0) || !std::isfinite(options.max_seconds))
    throw UsageError(fmt::format("--max-seconds: {} is no time", options.max_seconds));
}

/// Options that were given but would have no effect are refused.
void require_effect(const CLI::App& app, const Words& words) {
  for (const auto& [option, word] : {std::pair{"--x0", &words.x0},
                                     {"--json", &words.json},
                                     {"--history", &words.history},
                                     {"--plot", &words.plot},
                                     {"--solution", &words.solution}})
    if (app.count(option) > 0 && word->empty()) throw UsageError(fmt::format("{}: the file name is empty", option));
  if (app.count("--accuracy") > 0 && words.storage != "adaptive")
    throw UsageError(fmt::format("--accuracy: belongs to --storage adaptive, but it is {}", words.storage));
  if (app.count("--restart") > 0 && words.solver != "auto" && !words.solver.ends_with("gmres"))
    throw UsageError(fmt::format("--restart: belongs to gmres and fgmres, but --solver is {}", words.solver));
  if (app.count("--relaxation") > 0 && words.solver != "richardson")
    throw UsageError(fmt::format("--relaxation: belongs to richardson, but --solver is {}", words.solver));
  if (app.count("--resident") > 0 && words.backend == "host")
    throw UsageError("--resident: belongs to the CUDA backend, but --backend is host");
  if (app.count("--resident") > 0 && words.solver != "auto" && words.solver != "cg" && words.solver != "bicgstab" &&
      words.solver != "gmres")
    throw UsageError(fmt::format("--resident: belongs to cg, bicgstab and gmres, but --solver is {}", words.solver));
  if (app.count("--threads") > 0 && words.backend == "cuda")
    throw UsageError("--threads: belongs to the host backend, but --backend is cuda");
  const Blocks blocks = block_source(words.blocks);
  if (app.count("--block-tolerance") > 0 && blocks != Blocks::automatic && blocks != Blocks::detect &&
      blocks != Blocks::coupled)
    throw UsageError("--block-tolerance: belongs to --blocks detect and coupled");
  if (app.count("--coupling") > 0 && blocks != Blocks::coupled)
    throw UsageError("--coupling: belongs to --blocks coupled");
  const bool names_none = words.coarse == "auto" || words.coarse == "none";
  const bool names_multigrid = words.coarse == "multigrid" || words.coarse.starts_with(multigrid_prefix);
  if (app.count("--coarse-size") > 0 && (names_multigrid || (names_none && app.count("--compare") == 0)))
    throw UsageError(
        fmt::format("--coarse-size: belongs to --coarse ones, relaxed and vectors, but --coarse is {}", words.coarse));
}

void interpret_coarse(const Words& words, Options& options) {
  static const Choice<Coarse> choice{"--coarse",
                                     {{"auto", Coarse::automatic},
                                      {"none", Coarse::none},
                                      {"ones", Coarse::ones},
                                      {"relaxed", Coarse::relaxed},
                                      {"multigrid", Coarse::multigrid}}};
  const auto take_file = [&](Coarse coarse, std::string_view prefix) {
    options.coarse = coarse;
    options.coarse_file = words.coarse.substr(prefix.size());
    require_input_file(vectors_option(coarse), options.coarse_file.string());
  };
  if (words.coarse.starts_with(vectors_prefix)) {
    take_file(Coarse::vectors, vectors_prefix);
  } else if (words.coarse.starts_with(multigrid_prefix)) {
    take_file(Coarse::multigrid, multigrid_prefix);
  } else if (words.coarse.starts_with(relaxed_prefix)) {
    options.coarse = Coarse::relaxed;
    options.relaxed =
        size_or_auto("--coarse relaxed", words.coarse.substr(relaxed_prefix.size())).value_or(options.relaxed);
  } else {
    options.coarse = choose(choice, words.coarse);
  }
  options.coarse_size = size_or_auto("--coarse-size", words.coarse_size, blockjacobi::max_coarse_size).value_or(0);
}

/// What --compare chooses itself.
void require_nothing_to_compare(const CLI::App& app) {
  for (const char* option : {"--blocks", "--block-size", "--block-tolerance", "--coupling"})
    if (app.count(option) > 0) throw UsageError(fmt::format("{}: --compare chooses the blocks itself", option));
  if (app.count("--solution") > 0)
    throw UsageError("--solution: --compare keeps no solution; take the command line of the winner");
}

/// The words that were given, but for those that say what the candidates of --compare differ in, and for output.
std::vector<std::string> lasting_words(const CLI::App& app) {
  static const std::vector<std::string> changing{"--compare", "--coarse",  "--coarse-size", "--json",
                                                 "--plot",    "--history", "--max-seconds"};
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    const bool positional = option->get_lnames().empty();
    const std::string name = positional ? std::string() : "--" + option->get_lnames().front();
    if (option->count() == 0 || std::find(changing.begin(), changing.end(), name) != changing.end()) continue;
    if (!positional) words.push_back(name);
    const bool is_flag = option->get_items_expected_max() == 0;
    if (!is_flag) words.insert(words.end(), option->results().begin(), option->results().end());
  }
  return words;
}

/// Gives the words their meaning; the numbers are in `options` already.
Options interpret(const Words& words, bool threads_given, Options options) {
  options.matrix = words.matrix;
  options.solver = choose(solver_choice(), words.solver);
  options.backend = choose(backends(), words.backend);
  options.scalar = choose(scalars(), words.scalar);
  options.singular = choose(singular_policies(), words.singular);
  options.storage = choose(storages(), words.storage);
  options.resident = choose(residents(), words.resident);
  options.blocks = block_source(words.blocks);
  if (options.blocks == Blocks::metis && !blockjacobi::BlockPartition::metis_available())
    throw UsageError("--blocks metis: this program was built without METIS (BLOCKJACOBI_METIS=metis asks for it)");
  options.block_size = block_size(words.block_size, options.blocks);
  // A bound on the size, or on what rows of a supervariable may differ in, is one for detect.
  if (options.blocks == Blocks::automatic && (words.block_size != "auto" || options.block_tolerance > 0.0))
    options.blocks = Blocks::detect;
  options.unknowns = size_or_auto("--unknowns", words.unknowns);
  interpret_coarse(words, options);
  options.rhs = words.rhs == "random" ? Rhs::random : words.rhs == "ones" ? Rhs::ones : Rhs::file;
  if (threads_given && words.threads < 1) throw UsageError(fmt::format("--threads: {} is not positive", words.threads));
  options.threads = words.threads;
  check_numbers(options);

  require_input_file("MATRIX", words.matrix);
  if (options.blocks == Blocks::file) {
    require_input_file("--blocks", words.blocks,
                       "none of auto, detect, supervariables, coupled, clusters, metis, suggest, uniform, and ");
    options.block_file = words.blocks;
  }
  if (options.blocks == Blocks::labels) {
    const std::string path = words.blocks.substr(labels_prefix.size());
    require_input_file("--blocks labels", path);
    options.block_file = path;
  }
  if (options.rhs == Rhs::file) {
    require_input_file("--rhs", words.rhs, "neither random nor ones, and ");
    options.rhs_file = words.rhs;
  }
  if (!words.x0.empty()) require_input_file("--x0", words.x0);
  options.x0_file = words.x0;
  options.json_file = words.json;
  options.history_file = words.history;
  options.plot_file = words.plot;
  options.solution_file = words.solution;
  if (!words.json.empty()) require_folder_of("--json", options.json_file);
  if (!words.history.empty()) require_folder_of("--history", options.history_file);
  if (!words.plot.empty()) require_folder_of("--plot", options.plot_file);
  if (!words.solution.empty()) require_folder_of("--solution", options.solution_file);
  require_outputs_apart(options);
  if (!words.plot.empty()) require_plotter(options.plot_file);
  return options;
}

void describe_options(CLI::App& app, Words& words, Options& options) {
  app.add_option("MATRIX", words.matrix, "Matrix Market file, .mtx or .mtx.gz")->required();
  app.add_option("--solver", words.solver, solver_help())->capture_default_str();
  app.add_option(
         "--blocks", words.blocks,
         "auto (supervariables if --unknowns or the file state their size, detect with --block-size or --coarse, else "
         "suggest), detect (supervariables, merged as they fit), supervariables (as they are: of --unknowns rows, else "
         "neighbours with the same pattern), coupled (supervariables, merged where the values couple them), clusters "
         "(strongly coupled rows wherever they stand), metis (the same, by METIS), suggest (probes, chooses, and shows "
         "what was weighed), uniform, a file of 0-based block pointers, or labels:FILE with a number for each row, "
         "equal in a block")
      ->capture_default_str();
  app.add_option(
         "--block-size", words.block_size,
         "the largest block with detect, coupled, clusters and metis, the size with uniform, 1..512; auto is 32")
      ->capture_default_str();
  app.add_option("--block-tolerance", options.block_tolerance,
                 "part of their entries in which two rows of a supervariable may differ")
      ->capture_default_str();
  app.add_option("--coupling", options.coupling,
                 "strength from which on coupled merges, relative to the diagonal blocks")
      ->capture_default_str();
  app.add_option(
         "--unknowns", words.unknowns,
         "rows of a node that stand together: supervariables of that size, clusters that keep them whole, a vector of "
         "ones for each in the coarse level; auto: as a comment of the file says, % ISTL_STRUCT blocked N N or %%AMGX "
         "N N")
      ->capture_default_str();
  app.add_option(
         "--coarse", words.coarse,
         "coarse level above the blocks: auto (what suggest recommends where it finds the blocks, else none), "
         "none, ones (a vector of ones on each aggregate of blocks), relaxed:K (K vectors that a few iterations "
         "find, 4 without a number), vectors:FILE, a Matrix Market file with near-kernel vectors as columns, such as "
         "rigid body modes, multigrid (levels down to a small matrix, from ones) or multigrid:FILE (from such "
         "vectors), both for symmetric and hermitian matrices")
      ->capture_default_str();
  app.add_option("--coarse-size", words.coarse_size,
                 "order of the coarse matrix at most, 1..4096; auto: by the entries of the matrix")
      ->capture_default_str();
  app.add_option("--backend", words.backend, "auto (cuda if there is a device), host, cuda")->capture_default_str();
  app.add_option("--threads", words.threads, "threads of the host backend (default: OpenMP's)");
  app.add_option("--scalar", words.scalar, "auto (d, or z for complex files), s, d, c, z")->capture_default_str();
  app.add_option("--storage", words.storage,
                 "format of the stored inverses: full, packed (symmetric or hermitian matrices), fp32, bf16, fp16, "
                 "adaptive (chosen block by block)")
      ->capture_default_str();
  app.add_option("--accuracy", options.accuracy, "bound of ||I - A_b X_b|| for every block with adaptive storage")
      ->capture_default_str();
  app.add_option("--singular", words.singular,
                 "what replaces singular blocks: fail, identity, scalar_jacobi, shift, pseudo_inverse")
      ->capture_default_str();
  app.add_flag("--l1", options.l1, "add the absolute row sums outside of the blocks to the diagonal (l1 block-Jacobi)");
  app.add_option("--rhs", words.rhs,
                 "random (b = A x, x uniform in [-1, 1]), ones (b = A * ones), or a file with one or more columns")
      ->capture_default_str();
  app.add_option("--x0", words.x0, "file with the initial guess, a column for each of --rhs (default: zero)");
  app.add_option("--rtol", options.rtol, "stop at ||b - A x|| <= rtol ||b||")->capture_default_str();
  app.add_option("--max-iterations", options.max_iterations, "iterations, inner ones of gmres and fgmres")
      ->capture_default_str();
  app.add_option("--restart", options.restart, "m of gmres(m) and fgmres(m)")->capture_default_str();
  app.add_option("--relaxation", options.relaxation, "omega of richardson: x += omega M^-1 (b - A x)")
      ->capture_default_str();
  app.add_option("--resident", words.resident,
                 "auto (cg, bicgstab and gmres take the whole CUDA device in one launch for systems that live in its "
                 "caches, behind any other work on it), never")
      ->capture_default_str();
  app.add_option("--max-seconds", options.max_seconds,
                 "wall time that the solves may take, with --compare set-up and solves of each candidate; 0: no limit "
                 "(--compare: 60)")
      ->capture_default_str();
  app.add_flag(
      "--compare", options.compare,
      "solve with scalar Jacobi, supervariables, detect 32, clusters 32 and 256, each without and with a coarse "
      "level (that of --coarse, or ones, and on clusters relaxed:4), and print a table, the fastest first");
  app.add_option("--json", words.json, "write the whole report to this file");
  app.add_option("--history", words.history, "write iteration,residual to this .csv file");
  app.add_option("--solution", words.solution, "write x to this Matrix Market file, a column for each of --rhs");
  app.add_option("--plot", words.plot, "draw the residuals to this .png file, by gnuplot");
  app.set_version_flag("--version", fmt::format("{} {}", program_name, blockjacobi::version));
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  CLI::App app("Solves a sparse linear system with a block-Jacobi preconditioned Krylov method.", program_name);
  app.footer("Exit status: 0 converged, 1 not converged or a singular block, 2 bad usage or input.");
  Words words;
  Options options;
  describe_options(app, words, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(fmt::format("{} (see --help)", error.what()));
    app.exit(error);
    return std::nullopt;
  }
  if (options.compare) require_nothing_to_compare(app);
  require_effect(app, words);
  if (options.compare) {
    options.lasting_words = lasting_words(app);
    if (app.count("--max-seconds") == 0) options.max_seconds = seconds_of_a_candidate;
  }
  return interpret(words, app.count("--threads") > 0, options);
}

}  // namespace solve
