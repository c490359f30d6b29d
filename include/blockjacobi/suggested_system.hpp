#pragma once

#include <blockjacobi/multigrid.hpp>
#include <blockjacobi/solver.hpp>
#include <blockjacobi/suggest.hpp>
#include <blockjacobi/two_level.hpp>

namespace blockjacobi {

namespace detail {
template <Scalar T>
class SuggestedSystemImpl;
}  // namespace detail

/// A x = b with the preconditioner that a candidate of suggest() stands for, renumbered where its rows do not stay:
///
///     const Suggestion found = suggest(A);
///     const SuggestedSystem<double> system(A, found.best());
///     const SolveReport report = system.solve(Method::cg, b.view(), x.view());
///
/// b and x of solve() have the user's numbering. Own loops take matrix() and preconditioner(), in the numbering of
/// permutation(). Thread safety: one call at a time. One that was moved from may be assigned to and destroyed; every
/// other call throws InvalidArgument.
template <Scalar T>
class BLOCKJACOBI_EXPORT SuggestedSystem {
 public:
  /// Shares the arrays of `matrix`, of which the candidate was made; a renumbered system has its own besides, made on
  /// the host. A block size that is stated with the matrix is stated with it, if its nodes stay whole. Waits. Throws
  /// InvalidArgument for a candidate of another number of rows than the matrix or with a coarse level and a multigrid,
  /// and as BlockJacobi, TwoLevel and Multigrid.
  SuggestedSystem(const SparseMatrix<T>& matrix, const BlockCandidate& candidate,
                  const BlockJacobiOptions& options = BlockJacobiOptions{SingularPolicy::scalar_jacobi});
  SuggestedSystem(SuggestedSystem&&) noexcept;
  SuggestedSystem& operator=(SuggestedSystem&&) noexcept;
  ~SuggestedSystem();

  /// Numeric set-up for the values that the user's matrix has now. Enqueued, without waiting; as refresh() of
  /// BlockJacobi, TwoLevel and Multigrid.
  void refresh();

  /// cg() or gmres(), as these.
  SolveReport solve(Method method, VectorView<const T> b, VectorView<T> x, const SolveOptions& options = {}) const;

  /// P A P^T, or the user's matrix.
  const SparseMatrix<T>& matrix() const;
  /// Refers to this object.
  Preconditioner<T> preconditioner() const;
  /// P.
  const Permutation& permutation() const;

 private:
  detail::SoleOwner<detail::SuggestedSystemImpl<T>> impl_;
};

}  // namespace blockjacobi
