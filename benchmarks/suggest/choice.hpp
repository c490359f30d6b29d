#pragma once

#include <blockjacobi/blockjacobi.hpp>

#include <optional>
#include <string>
#include <vector>

namespace bench {

/// Blocks and coarse level, of those that suggest() knows, under its names.
struct Choice {
  enum class Blocks { scalar, node, detect, clusters };
  Blocks blocks = Blocks::scalar;
  blockjacobi::index_t size = 1;
  std::optional<blockjacobi::index_t> relaxed{};  ///< of a coarse level, 0 for ones

  std::string name() const {
    const char* const names[] = {"scalar", "node", "detect ", "clusters "};
    std::string text = names[static_cast<int>(blocks)];
    if (blocks >= Blocks::detect) text += std::to_string(size);
    if (relaxed) text += *relaxed > 0 ? " + relaxed " + std::to_string(*relaxed) : " + ones";
    return text;
  }

  /// The candidate that suggest() would make of it for a solver.
  template <class T>
  blockjacobi::BlockCandidate of(const blockjacobi::SparseMatrix<T>& A, blockjacobi::Method method) const {
    blockjacobi::BlockCandidate candidate{name(), {}, blockjacobi::Permutation::identity(A.rows())};
    switch (blocks) {
      case Blocks::scalar: candidate.blocks = blockjacobi::BlockPartition::uniform(A.rows(), 1); break;
      case Blocks::node:
        candidate.blocks = blockjacobi::BlockPartition::detect(A, {.merge = blockjacobi::Merge::none});
        break;
      case Blocks::detect: candidate.blocks = blockjacobi::BlockPartition::detect(A, size); break;
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
    return candidate;
  }
};

inline std::vector<Choice> all_choices() {
  using enum Choice::Blocks;
  std::vector<Choice> choices;
  for (const Choice& base : {Choice{scalar}, Choice{node}, Choice{detect, 8}, Choice{detect, 16}, Choice{detect, 32},
                             Choice{clusters, 8}, Choice{clusters, 32}, Choice{clusters, 128}, Choice{clusters, 512}}) {
    choices.push_back(base);
    if (base.blocks == detect || base.size > 128) continue;
    for (const blockjacobi::index_t relaxed : {0, 4}) choices.push_back({base.blocks, base.size, relaxed});
  }
  return choices;
}

}  // namespace bench
