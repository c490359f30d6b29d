#pragma once

#include "backend/backend_impl.hpp"

#include <blockjacobi/solver.hpp>
#include <blockjacobi/two_level.hpp>

#include <chrono>
#include <initializer_list>
#include <optional>

namespace blockjacobi::detail {

/// Throws InvalidArgument, naming `solver`, for options that no solver takes.
void require_options(const char* solver, const SolveOptions& options);

/// Throws InvalidArgument, naming `solver`, unless M goes with A.
template <Scalar T>
void require_preconditioner(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M);

/// Throws InvalidArgument, naming `solver`, for a coarse level with another mode than those.
template <Scalar T>
void require_coarse_mode(const char* solver, const Preconditioner<T>& M, std::initializer_list<CoarseMode> allowed);

/// How far below the goal a recurrence goes that nobody can follow up: room for what rounding adds.
inline constexpr double enqueued_margin = 0.9;

inline StoppingRule stopping_rule(const SolveOptions& o, double margin = 1.0) {
  return {o.rtol, o.atol, o.relative_to == RelativeTo::initial_residual ? 1 : 0, margin};
}

/// Iterations worth enqueueing before the outcome is looked at.
template <Scalar T>
int batch_of(const KrylovOps<T>& ops, const PreconditionerImpl<T>* M) {
  return M == nullptr ? ops.batch() : M->batch(ops.batch());
}

/// What every solver does around its recurrence: checks the arguments, brings b and x to the backend and x back,
/// finds the target, collects the history, watches the clock and the callback, and recomputes the residual.
template <Scalar T>
class SolveSession {
  using C = compute_t<T>;

 public:
  /// Throws InvalidArgument, naming `solver`, before anything is enqueued.
  SolveSession(const char* solver, const LinearOperator<T>& A, const Preconditioner<T>& M, VectorView<const T> b,
               VectorView<T> x, const SolveOptions& options);

  /// Norms and target in the control, with r = b - A x0: enqueued. A solve that ends before its first iteration (b = 0,
  /// singular blocks, ||b|| not finite) has its stop then.
  void begin(C* r, SolveControl* control);

  /// Takes what begin() found out of a copy of the control, made after the phases that come first. False if none of
  /// them ran since the solve had ended; the reason is set then.
  bool begun(const SolveControl& found);

  /// Takes the norms a state collected since the last look.
  void collect(const double* history, int count, index_t iteration);

  /// The same, and asks clock and callback.
  /// Sets the reason and returns false if one of them ends the solve.
  bool look(const double* history, int count, index_t iteration);

  /// ||v||; waits.
  double norm(const C* v);
  /// ||b - A x||, recomputed; `r` receives b - A x.
  double true_residual(C* r);

  /// Recomputes ||b - A x|| in `scratch` unless it is known, decides the reason and returns x to the user.
  SolveReport finish(StopReason reason, C* scratch, std::optional<double> known = std::nullopt);

  const Backend& backend() const { return backend_; }
  KrylovOps<T>& ops() { return ops_; }
  index_t rows() const { return rows_; }
  const OperatorImpl<T>& A() const { return A_; }
  const PreconditionerImpl<T>* M() const { return M_; }
  bool capturable() const { return A_.capturable() && (M_ == nullptr || M_->capturable()); }
  const C* b() const { return b_; }
  C* x() const { return x_; }
  double target() const { return target_; }
  const SolveOptions& options() const { return options_; }
  SolveReport& report() { return report_; }

 private:
  double elapsed() const;

  Backend backend_;
  KrylovOps<T>& ops_;
  index_t rows_;
  const OperatorImpl<T>& A_;
  const PreconditionerImpl<T>* M_;
  SolveOptions options_;
  VectorView<T> user_x_;
  std::optional<Array<T>> staged_b_, staged_x_;
  const C* b_;
  C* x_;
  Array<double> norm_;
  double target_ = 0.0;
  std::chrono::steady_clock::time_point start_;
  SolveReport report_;
};

}  // namespace blockjacobi::detail
