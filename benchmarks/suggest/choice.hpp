#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Blocks with a coarse level or a multigrid, of those that suggest() knows, under its names.
struct Choice {
  enum class Blocks { scalar, node, detect, coupled, clusters };
  static constexpr blockjacobi::index_t largest_node = 8;  ///< as of suggest()
  Blocks blocks = Blocks::scalar;
  blockjacobi::index_t size = 1;
  std::optional<blockjacobi::index_t> relaxed{};  ///< of a coarse level, 0 for ones
  bool has_multigrid = false;

  std::string name() const {
    const char* const names[] = {"scalar", "node", "detect ", "coupled ", "clusters "};
    std::string text = names[static_cast<int>(blocks)];
    if (blocks >= Blocks::detect) text += std::to_string(size);
    if (relaxed) text += *relaxed > 0 ? " + relaxed " + std::to_string(*relaxed) : " + ones";
    if (has_multigrid) text += " + multigrid";
    return text;
  }

  /// The candidate that suggest() would make of it for a solver.
  template <class T>
  blockjacobi::BlockCandidate of(const blockjacobi::SparseMatrix<T>& A, blockjacobi::Method method) const {
    blockjacobi::BlockCandidate candidate{name(), {}, blockjacobi::Permutation::identity(A.rows())};
    switch (blocks) {
      case Blocks::scalar: candidate.blocks = blockjacobi::BlockPartition::uniform(A.rows(), 1); break;
      case Blocks::node:
        candidate.blocks =
            blockjacobi::BlockPartition::detect(A, {.max_size = largest_node, .merge = blockjacobi::Merge::none});
        break;
      case Blocks::detect: candidate.blocks = blockjacobi::BlockPartition::detect(A, size); break;
      case Blocks::coupled:
        candidate.blocks =
            blockjacobi::BlockPartition::detect(A, {.max_size = size, .merge = blockjacobi::Merge::coupled});
        break;
      case Blocks::clusters: {
        blockjacobi::PermutedPartition found = blockjacobi::BlockPartition::clusters(A, size);
        candidate.blocks = std::move(found.blocks);
        candidate.permutation = std::move(found.permutation);
      }
    }
    using enum blockjacobi::CoarseMode;
    if (relaxed)
      candidate.coarse =
          blockjacobi::TwoLevelOptions{.mode = method == blockjacobi::Method::cg ? adef2 : adef1, .relaxed = *relaxed};
    if (has_multigrid) candidate.multigrid = blockjacobi::MultigridOptions{};
    return candidate;
  }
};

/// All that suggest() may recommend. Coupled blocks are found on the host alone, and multigrids are for cg.
inline std::vector<Choice> all_choices(bool on_host, blockjacobi::Method method) {
  using enum Choice::Blocks;
  std::vector<Choice> blocks{{scalar},      {node},         {detect, 8},     {detect, 16},   {detect, 32},
                             {clusters, 8}, {clusters, 32}, {clusters, 128}, {clusters, 512}};
  if (on_host) blocks.push_back({coupled, 32});
  std::vector<Choice> choices;
  for (const Choice& base : blocks) {
    choices.push_back(base);
    for (const blockjacobi::index_t relaxed : {0, 4}) choices.push_back({base.blocks, base.size, relaxed});
    if (method == blockjacobi::Method::cg) choices.push_back({base.blocks, base.size, {}, true});
  }
  return choices;
}

}  // namespace bench
