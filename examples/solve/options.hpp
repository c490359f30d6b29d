#pragma once

#include "solvers.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace solve {

using blockjacobi::index_t;

inline constexpr const char* program_name = "blockjacobi-solve";

/// Where the diagonal blocks come from. `automatic`: supervariables where their size is known, else as `suggest`.
enum class Blocks { automatic, detect, supervariables, coupled, clusters, metis, suggest, uniform, labels, file };

/// Whether suggest() finds them, once the header of the file is known.
inline bool suggests(Blocks blocks) noexcept { return blocks == Blocks::automatic || blocks == Blocks::suggest; }

/// What the coarse level is made of: nothing, vectors of ones, relaxed ones, or those of a file; or many levels, by
/// multigrid. `automatic`: what suggest() recommends where it finds the blocks, else nothing.
enum class Coarse { automatic, none, ones, relaxed, vectors, multigrid };

/// The words that vectors of a file are asked for by, for messages.
inline const char* vectors_option(Coarse coarse) noexcept {
  return coarse == Coarse::multigrid ? "--coarse multigrid" : "--coarse vectors";
}

/// Where the right-hand side comes from: A x with x uniform in [-1, 1], A * ones, or a file.
enum class Rhs { random, ones, file };

/// The command line, checked. An empty optional means "auto".
struct Options {
  std::filesystem::path matrix;
  std::optional<Solver> solver;
  Blocks blocks = Blocks::automatic;
  std::filesystem::path block_file;  ///< with Blocks::file and Blocks::labels
  index_t block_size = 32;           ///< the size with uniform, the maximum with detect, coupled, clusters and metis
  double block_tolerance = 0.0;      ///< DetectOptions::tolerance
  double coupling = blockjacobi::DetectOptions{}.coupling;
  std::optional<index_t> unknowns;  ///< of a node, which stand together
  bool unknowns_from_file = false;
  Coarse coarse = Coarse::automatic;
  index_t relaxed = 4;                ///< TwoLevelOptions::relaxed, with Coarse::relaxed
  std::filesystem::path coarse_file;  ///< with Coarse::vectors, and Coarse::multigrid of vectors
  index_t coarse_size = 0;            ///< TwoLevelOptions::size
  std::optional<blockjacobi::BackendKind> backend;
  int threads = 0;  ///< of the host backend; 0 takes OpenMP's default
  std::optional<blockjacobi::ScalarType> scalar;
  blockjacobi::SingularPolicy singular = blockjacobi::SingularPolicy::scalar_jacobi;
  blockjacobi::Storage storage = blockjacobi::Storage::full;
  double accuracy = 0.1;  ///< of Storage::adaptive
  bool l1 = false;
  Rhs rhs = Rhs::random;
  std::filesystem::path rhs_file;  ///< with Rhs::file
  std::filesystem::path x0_file;   ///< empty: start from zero
  double rtol = 1e-8;
  index_t max_iterations = 10000;
  index_t restart = 30;
  double relaxation = 1.0;
  blockjacobi::Resident resident = blockjacobi::Resident::automatic;
  double max_seconds = 0.0;  ///< of all solves, with `compare` of each candidate; 0: no limit
  bool compare = false;
  std::vector<std::string> lasting_words;  ///< what was given besides blocks, coarse level and output
  std::filesystem::path json_file;         ///< empty: none
  std::filesystem::path history_file;      ///< empty: none
  std::filesystem::path plot_file;         ///< empty: none
  std::filesystem::path solution_file;     ///< empty: none
};

/// Reads the command line. Prints and returns nothing for --help and --version; throws UsageError.
std::optional<Options> parse_options(int argc, char** argv);

}  // namespace solve
