#pragma once

#include "solver/recurrence.hpp"

namespace blockjacobi::detail {

/// How an enqueueing function and its arguments are called in messages; whole words, so that no call allocates.
struct EnqueueNames {
  const char* function;
  const char* b;
  const char* x;
  const char* status;
};

/// What is common to the solves that are enqueued whole: the objects that they keep, and the checks.
template <Scalar T>
class Enqueued {
 public:
  /// Throws InvalidArgument, naming `solver`.
  Enqueued(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M, const SolveOptions& options);

  /// Throws InvalidArgument for vectors that do not fit.
  void require_vectors(const EnqueueNames& names, const VectorView<const T>& b, const VectorView<T>& x,
                       const SolveStatus* status) const;

 protected:
  /// While it lives, what is enqueued takes scratch of this solve alone, so that the work may run beside other work of
  /// the backend.
  class OwnScratch {
   public:
    explicit OwnScratch(const Enqueued& solve) : backend_(solve.parts_.backend.impl()) {
      backend_.use_reductions(solve.reductions_.get());
    }
    ~OwnScratch() { backend_.use_reductions(nullptr); }
    OwnScratch(const OwnScratch&) = delete;
    OwnScratch& operator=(const OwnScratch&) = delete;

   private:
    BackendImpl& backend_;
  };

  LinearOperator<T> A_;
  Preconditioner<T> M_;
  SolverParts<T> parts_;

 private:
  std::unique_ptr<Reductions> reductions_;
};

}  // namespace blockjacobi::detail
