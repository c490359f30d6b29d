#pragma once

#include "backend/backend_impl.hpp"

#include <blockjacobi/two_level.hpp>

#include <memory>
#include <optional>
#include <utility>

namespace blockjacobi::detail {

/// Columns of Z at most where TwoLevelOptions::size is 0.
index_t default_coarse_size(const Backend& backend, offset_t nnz);

/// Q = Z E^-1 Z^H.
template <Scalar T>
class CoarseLevel {
  using C = compute_t<T>;

 public:
  /// Waits; Z has columns. `kind` is that of E.
  CoarseLevel(const SparseMatrix<T>& matrix, CoarseMode mode, CoarseSpace<T> z, CoarseMatrixKind kind);

  /// E and its inverse for the values that A has now; enqueued.
  void refresh(const SparseMatrix<T>& matrix);
  /// u = Q r; enqueued. u may be r.
  void correct(const C* r, C* u) const;
  /// z = M^-1 r with the correction that the mode asks for; enqueued. `scratch` has as many elements.
  void apply(const PreconditionerImpl<T>& M, const C* r, C* z, C* scratch) const;

  CoarseMode mode() const { return mode_; }
  CoarseView<T> view() const;
  /// info and rcond of E; waits.
  std::pair<int, double> outcome() const;
  std::size_t bytes() const;

 private:
  CoarseMode mode_;
  CoarseOps<T>& ops_;
  CoarseSpace<T> z_;
  CoarsePatterns patterns_;
  Array<C> restriction_;  ///< values of Z^H; empty for ones
  Array<C> product_, e_;  ///< values of Z^H A, or A Z under adef1, which take fewer bytes to read than A; and of E
  Array<real_t<T>> scales_, coarse_scales_;  ///< of A and E, see core/shared/rounding_scales.hpp; for a block alone
  std::optional<BlockJacobi<T>> block_;      ///< E as its only block
  std::unique_ptr<CoarseInverse<T>> whole_;  ///< E where that is too large for a block
  index_t pieces_;
  Array<C> partials_, correction_;
};

/// State of a TwoLevel.
template <Scalar T>
class TwoLevelImpl final : public PreconditionerImpl<T> {
  using C = compute_t<T>;

 public:
  /// Without a coarse level if Z has no columns. Waits.
  TwoLevelImpl(const SparseMatrix<T>& matrix, BlockJacobi<T> block_jacobi, CoarseMode mode,
               const Aggregates& aggregates, CoarseSpace<T> z);

  void refresh();
  /// u = Q r.
  void correct(const C* r, C* u) const;
  TwoLevelReport report() const;

  index_t rows() const override { return jacobi.rows(); }
  void apply(const C* r, C* z) const override;
  bool capturable() const override { return jacobi.preconditioner().capturable(); }
  const int* failure() const override { return jacobi.preconditioner().failure(); }
  std::optional<CoarseMode> coarse_mode() const override { return found_.mode; }
  bool correct_start(const C* r, C* u) const override;
  std::optional<CoarseCorrection<T>> coarse_correction() const override;

  Backend backend;
  BlockJacobi<T> jacobi;

 private:
  SparseMatrix<T> matrix_;
  std::optional<CoarseLevel<T>> coarse_;
  Array<C> scratch_;
  TwoLevelReport found_;  ///< with what does not depend on the values
};

}  // namespace blockjacobi::detail
