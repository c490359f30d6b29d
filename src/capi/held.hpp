#pragma once

#include "capi/numbering.hpp"

#include <memory>
#include <optional>
#include <variant>

namespace blockjacobi::capi {

template <template <class> class Held>
using OfAnyScalar = std::variant<Held<float>, Held<double>, Held<std::complex<float>>, Held<std::complex<double>>>;

/// A preconditioner of any kind, in the numbering of its blocks.
template <Scalar T>
struct HeldPreconditioner {
  std::variant<BlockJacobi<T>, TwoLevel<T>, Multigrid<T>> kind;
  /// Of a kind with coarse levels, which refers to it.
  std::optional<SparseMatrix<T>> matrix{};
  /// Null where the user's numbering is that of the blocks.
  std::shared_ptr<Numbering<T>> numbering{};

  const BlockJacobi<T>& blocks() const {
    if (const auto* two_level = std::get_if<TwoLevel<T>>(&kind)) return two_level->block_jacobi();
    if (const auto* multigrid = std::get_if<Multigrid<T>>(&kind)) return multigrid->block_jacobi();
    return std::get<BlockJacobi<T>>(kind);
  }

  /// For what there is of block-Jacobi alone.
  template <class Self>
  static auto& alone_of(Self& self) {
    if (auto* blocks = std::get_if<BlockJacobi<T>>(&self.kind)) return *blocks;
    self.require_no_multigrid();
    throw InvalidArgument("M has a coarse level, with which there is no such operation");
  }
  BlockJacobi<T>& alone() { return alone_of(*this); }
  const BlockJacobi<T>& alone() const { return alone_of(*this); }

  const TwoLevel<T>& two_level() const {
    if (const auto* found = std::get_if<TwoLevel<T>>(&kind)) return *found;
    require_no_multigrid();
    throw InvalidArgument("M has no coarse level");
  }

  const Multigrid<T>& multigrid() const {
    if (const auto* found = std::get_if<Multigrid<T>>(&kind)) return *found;
    throw InvalidArgument("M is no multigrid");
  }

  Preconditioner<T> for_solvers() const {
    return std::visit([](const auto& m) { return Preconditioner<T>(m); }, kind);
  }

  /// Values in the order of the matrix that the blocks are made of.
  void refresh(const T* values, offset_t nnz, MemorySpace space) {
    if (auto* blocks = std::get_if<BlockJacobi<T>>(&kind)) return blocks->refresh(values, nnz, space);
    matrix->update_values(values, nnz, space);
    if (auto* two_level = std::get_if<TwoLevel<T>>(&kind)) return two_level->refresh();
    std::get<Multigrid<T>>(kind).refresh();
  }

  void apply(VectorView<const T> r, VectorView<T> z) const {
    std::visit([&](const auto& m) { m.apply(r, z); }, kind);
  }

  /// f(r, z) in the numbering of the blocks.
  template <class F>
  void map(VectorView<const T> r, VectorView<T> z, F&& f) const {
    if (numbering)
      numbering->around(r, z, f);
    else
      f(r, z);
  }

  /// f(values) in the order of the matrix that the blocks are made of.
  template <class F>
  void with_values(const T* values, offset_t nnz, MemorySpace space, F&& f) const {
    f(numbering ? numbering->ordered(values, nnz, space) : values);
  }

  BlockJacobiReport in_user_rows(BlockJacobiReport report) const {
    return numbering ? in_original_rows(std::move(report), numbering->permutation()) : report;
  }

 private:
  void require_no_multigrid() const {
    if (std::holds_alternative<Multigrid<T>>(kind))
      throw InvalidArgument("M is a multigrid, with which there is no such operation");
  }
};

/// The matrix of a system.
template <Scalar T>
struct HeldOperator {
  LinearOperator<T> product;
  /// What bj_operator_refresh() writes to, for operators that have a copy.
  std::variant<std::monostate, BsrMatrix<T>, SparseMatrix<T>> own{};
  /// Null where it is in the user's numbering.
  std::shared_ptr<Numbering<T>> numbering{};
};

template <Scalar T>
struct HeldWorkspace {
  std::variant<CgWorkspace<T>, GmresWorkspace<T>> solver;
  std::shared_ptr<Numbering<T>> numbering{};
};

/// P A P^T and its numbering.
template <Scalar T>
struct Renumbered {
  template <Offset O>
  Renumbered(const Backend& backend, const CsrView<T, O>& given, const Permutation& permutation)
      : matrix(given, permutation),
        numbering(std::make_shared<Numbering<T>>(backend, permutation, matrix.value_map())) {}
  PermutedMatrix<T> matrix;
  std::shared_ptr<Numbering<T>> numbering;
};

/// make(options), a BlockJacobi of a renumbered system. A singular block is named by its rows in the user's numbering.
template <class Make>
auto named_by_user_rows(const Permutation& permutation, BlockJacobiOptions options, Make&& make) {
  try {
    return make(options);
  } catch (const SingularBlock&) {
    options.singular = SingularPolicy::identity;
    const BlockJacobiReport found = in_original_rows(make(options).report(), permutation);
    const BlockDefect& first = found.defects.at(0);
    throw SingularBlock(first.block, first.first_row, first.size, first.info, "BlockJacobi: " + describe(first));
  }
}

}  // namespace blockjacobi::capi
