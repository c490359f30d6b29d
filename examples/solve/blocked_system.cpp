#include "blocked_system.hpp"

#include "counted.hpp"

#include <fmt/format.h>

namespace solve {

std::string how(const Options& options) {
  switch (options.blocks) {
    case Blocks::automatic:
    case Blocks::suggest: return "suggest";
    case Blocks::detect: return "detect, at most " + counted(options.block_size, "row");
    case Blocks::supervariables:
      if (!options.unknowns) return "supervariables, at most " + counted(options.block_size, "row");
      return fmt::format("supervariables, {}{}", counted(*options.unknowns, "row"),
                         options.unknowns_from_file ? ", as the file says" : "");
    case Blocks::coupled: return "coupled, at most " + counted(options.block_size, "row");
    case Blocks::clusters: return "clusters, at most " + counted(options.block_size, "row");
    case Blocks::metis: return "metis, at most " + counted(options.block_size, "row");
    case Blocks::uniform: return "uniform, " + counted(options.block_size, "row");
    case Blocks::labels: return fmt::format("labels from {}", options.block_file.string());
    case Blocks::file: break;
  }
  return fmt::format("from {}", options.block_file.string());
}

blockjacobi::DetectOptions detect_options(const Options& options) {
  using blockjacobi::Merge;
  return {.max_size = options.block_size,
          .tolerance = options.block_tolerance,
          .merge = options.blocks == Blocks::coupled          ? Merge::coupled
                   : options.blocks == Blocks::supervariables ? Merge::none
                                                              : Merge::greedy,
          .coupling = options.coupling};
}

BlocksInfo describe(const blockjacobi::PermutedPartition& found, const Options& options) {
  std::map<index_t, index_t> sizes;
  for (index_t block = 0; block < found.blocks.blocks(); ++block) ++sizes[found.blocks.block_size(block)];
  BlocksInfo info{how(options), found.blocks.blocks(), {sizes.begin(), sizes.end()}};
  info.renumbered = !found.permutation.is_identity();
  return info;
}

}  // namespace solve
