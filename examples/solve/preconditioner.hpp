#pragma once

#include "blocked_system.hpp"
#include "outcome.hpp"
#include "stopwatch.hpp"
#include "system.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace solve {

/// Blocks alone, or with a coarse level, or with many.
template <Scalar T>
using AnyPreconditioner =
    std::variant<blockjacobi::BlockJacobi<T>, blockjacobi::TwoLevel<T>, blockjacobi::Multigrid<T>>;

template <Scalar T>
blockjacobi::Preconditioner<T> as_preconditioner(const AnyPreconditioner<T>& M) {
  return std::visit([](const auto& m) { return blockjacobi::Preconditioner<T>(m); }, M);
}

/// "ones", "relaxed 4", "vectors from FILE", "multigrid", "multigrid from FILE"
std::string coarse_name(const Options& options);

/// The columns in another order of their elements.
template <Scalar T>
blockjacobi::DenseMatrix<T> permuted(const blockjacobi::DenseMatrix<T>& vectors,
                                     const blockjacobi::Permutation& permutation) {
  blockjacobi::DenseMatrix<T> result{vectors.rows, vectors.cols, {}};
  result.values.reserve(vectors.values.size());
  for (index_t column = 0; column < vectors.cols; ++column) {
    const auto values = permutation.to_permuted(column_of(vectors, column));
    result.values.insert(result.values.end(), values.begin(), values.end());
  }
  return result;
}

/// The blocks, with what --coarse names above them.
template <Scalar T>
AnyPreconditioner<T> with_coarse_level(const Options& options, Solver solver, const BlockedSystem<T>& blocked,
                                       const blockjacobi::DenseMatrix<T>& vectors, blockjacobi::BlockJacobi<T> blocks) {
  using blockjacobi::Multigrid, blockjacobi::TwoLevel;
  const auto Z = permuted(vectors, blocked.found.permutation);
  const blockjacobi::MultiVectorView<const T> view{Z.values.data(), Z.rows, Z.cols, Z.rows};
  if (options.coarse == Coarse::multigrid) {
    if (Z.cols == 0) return Multigrid<T>(blocked.A, std::move(blocks));
    return Multigrid<T>(blocked.A, std::move(blocks), view);
  }
  const blockjacobi::TwoLevelOptions two_level{.mode = traits(solver).coarse_mode,
                                               .size = options.coarse_size,
                                               .relaxed = options.coarse == Coarse::relaxed ? options.relaxed : 0};
  if (Z.cols == 0) return TwoLevel<T>(blocked.A, std::move(blocks), two_level);
  return TwoLevel<T>(blocked.A, std::move(blocks), view, two_level);
}

template <Scalar T>
CoarseReport coarse_report(const AnyPreconditioner<T>& M) {
  if (const auto* multigrid = std::get_if<blockjacobi::Multigrid<T>>(&M)) return multigrid->report();
  return std::get<blockjacobi::TwoLevel<T>>(M).report();
}

/// What the options ask for, and what there is to say of it. Throws SingularBlock.
template <Scalar T>
AnyPreconditioner<T> set_up(const Options& options, Solver solver, const BlockedSystem<T>& blocked,
                            const blockjacobi::DenseMatrix<T>& vectors, Attempt& attempt) {
  const auto& backend = blocked.A.backend();
  std::optional<blockjacobi::BlockJacobi<T>> blocks;
  blockjacobi::BlockJacobiOptions block_options{options.singular, options.storage, options.accuracy, options.l1};
  block_options.profile = true;
  attempt.setup_ms = milliseconds(backend, [&] { blocks.emplace(blocked.A, blocked.found.blocks, block_options); });
  attempt.setup = blocks->report(blocked.A);
  if (attempt.blocks.renumbered) attempt.setup = in_original_rows(std::move(*attempt.setup), blocked.found.permutation);
  if (options.coarse == Coarse::none) return std::move(*blocks);
  std::optional<AnyPreconditioner<T>> both;
  const double ms = milliseconds(
      backend, [&] { both.emplace(with_coarse_level(options, solver, blocked, vectors, std::move(*blocks))); });
  attempt.coarse = CoarseInfo{coarse_name(options), ms, coarse_report(*both)};
  return std::move(*both);
}

}  // namespace solve
