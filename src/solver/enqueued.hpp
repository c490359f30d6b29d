#pragma once

#include "solver/recurrence.hpp"

namespace blockjacobi::detail {

/// What is common to the solves that are enqueued whole: the objects that they keep, and the checks.
template <Scalar T>
class Enqueued {
 public:
  /// Throws InvalidArgument, naming `solver`.
  Enqueued(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M, const SolveOptions& options);

  /// Throws InvalidArgument, naming `solver`, for vectors that do not fit.
  void require_vectors(const char* solver, const VectorView<const T>& b, const VectorView<T>& x,
                       const SolveStatus* status) const;

 protected:
  LinearOperator<T> A_;
  Preconditioner<T> M_;
  SolverParts<T> parts_;
};

}  // namespace blockjacobi::detail
