#pragma once

#include "solve/model_system.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <filesystem>
#include <optional>

namespace bench {

/// Which blocks a matrix is cut into: of one order, given, or those that BlockPartition::detect finds.
struct PatternBlocks {
  std::string partition;
  blockjacobi::index_t order = 0;
  std::optional<blockjacobi::BlockPartition> given{};

  static PatternBlocks uniform(blockjacobi::index_t order) { return {"uniform", order}; }
  static PatternBlocks detected() { return {"detected"}; }
};

/// A system in one numbering, with its blocks.
struct PatternSystem {
  std::string name;
  blockjacobi::CsrMatrix<double> matrix;
  bool is_definite;  ///< symmetric too
  std::vector<PatternBlocks> blocks;
};

/// A stencil of one unknown a point in blocks of powers of two and of 3, of three unknowns in whole points.
inline PatternSystem stencil_pattern(const std::string& name) {
  const ModelSystem model = model_system(name);
  PatternSystem system{name, blockjacobi::matrices::stencil<double>(model.stencil), true, {}};
  using Orders = std::vector<blockjacobi::index_t>;
  for (const auto order : model.stencil.unknowns == 3 ? Orders{3, 12, 24, 96} : Orders{3, 8, 16, 32, 64})
    system.blocks.push_back(PatternBlocks::uniform(order));
  return system;
}

/// The system of a Matrix Market file in its own numbering, with the blocks that are detected there, and renumbered for
/// blocks of METIS of up to 128 rows.
inline std::vector<PatternSystem> file_patterns(const std::filesystem::path& path, bool is_definite) {
  using namespace blockjacobi;
  std::string name = path.filename().string();
  name.erase(std::min(name.find(".mtx"), name.size()));
  constexpr index_t largest = 128;
  CsrMatrix<double> matrix = read_matrix_market<double>(path);
  const PermutedPartition parts = BlockPartition::metis(matrix, largest);
  const PermutedMatrix<double> renumbered(matrix, parts.permutation);
  const PatternBlocks given{"METIS " + std::to_string(largest), parts.blocks.largest_block(), parts.blocks};
  return {{name, std::move(matrix), is_definite, {PatternBlocks::detected()}},
          {name, CsrMatrix<double>::from_view(renumbered.view()), is_definite, {given}}};
}

}  // namespace bench
