#pragma once

#include "block_file.hpp"
#include "outcome.hpp"
#include "stopwatch.hpp"
#include "suggested.hpp"
#include "system.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace solve {

/// A matrix in the numbering in which its blocks are contiguous.
template <Scalar T>
struct BlockedSystem {
  blockjacobi::SparseMatrix<T> A;
  blockjacobi::PermutedPartition found;  ///< from the numbering of the file
};

/// "detect, at most 32 rows"
std::string how(const Options& options);

inline bool renumbers(Blocks blocks) {
  return blocks == Blocks::clusters || blocks == Blocks::metis || blocks == Blocks::labels;
}

blockjacobi::DetectOptions detect_options(const Options& options);
BlocksInfo describe(const blockjacobi::PermutedPartition& found, const Options& options);

/// Blocks of rows as they are numbered, of a matrix on the backend.
template <Scalar T>
blockjacobi::BlockPartition contiguous_blocks(const Options& options, const blockjacobi::SparseMatrix<T>& A) {
  using blockjacobi::BlockPartition;
  if (options.blocks == Blocks::uniform) return BlockPartition::uniform(A.rows(), options.block_size);
  if (options.blocks == Blocks::file) return read_block_file(options.block_file, A.rows());
  if (options.blocks == Blocks::supervariables && A.block_size()) return BlockPartition::uniform(A);
  return BlockPartition::detect(A, detect_options(options));
}

/// Blocks of rows that need not be neighbours; clusters are found where the backend is.
template <Scalar T>
blockjacobi::PermutedPartition scattered_blocks(const Options& options, System<T>& system) {
  using blockjacobi::BlockPartition;
  if (options.blocks == Blocks::clusters) return BlockPartition::clusters(system.on_backend(), options.block_size);
  const CsrMatrix<T>& A = system.matrix();
  if (options.blocks == Blocks::metis) return BlockPartition::metis(A, options.block_size);
  return BlockPartition::from_labels(read_label_file(options.block_file, A.rows()));
}

template <Scalar T>
BlockedSystem<T> renumber(System<T>& system, blockjacobi::PermutedPartition found) {
  return {system.on_backend().renumbered(found.permutation), std::move(found)};
}

/// Blocks as the options say, and what there is to say of them; those of detect where suggest() recommends none.
template <Scalar T>
BlockedSystem<T> find_blocks(const Options& options, Solver solver, System<T>& system, BlocksInfo& info) {
  std::optional<BlockedSystem<T>> blocked;
  std::optional<blockjacobi::Suggestion> suggestion;
  Options choice = options;
  system.on_backend();
  const double ms = milliseconds(system.backend(), [&] {
    if (renumbers(options.blocks)) {
      blocked = renumber(system, scattered_blocks(options, system));
      return;
    }
    const auto& A = system.on_backend();
    if (suggests(options.blocks)) suggestion = blockjacobi::suggest(A, suggest_options(options, solver));
    if (suggestion && !is_recommendation(*suggestion)) choice.blocks = Blocks::detect;
    blockjacobi::PermutedPartition found;
    if (suggests(choice.blocks))
      found = {suggestion->best().permutation, suggestion->best().blocks};
    else
      found = {blockjacobi::Permutation::identity(A.rows()), contiguous_blocks(choice, A)};
    if (found.permutation.is_identity())
      blocked = BlockedSystem<T>{A, std::move(found)};
    else
      blocked = renumber(system, std::move(found));
  });
  info = describe(blocked->found, choice);
  info.milliseconds = ms;
  info.suggestion = std::move(suggestion);
  if (suggests(choice.blocks)) info.how = "suggested, " + info.suggestion->best().name;
  return std::move(*blocked);
}

}  // namespace solve
