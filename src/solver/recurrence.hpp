#pragma once

#include "solver/session.hpp"

namespace blockjacobi::detail {

/// A solver with short recurrences: its vectors and scalars in backend memory, and its phases, which enqueue and
/// allocate nothing. The phases change x, and nothing once control()->stop is set.
template <Scalar T>
class Recurrence {
 public:
  using C = compute_t<T>;

  virtual ~Recurrence() = default;

  /// Where the solution is, from now on.
  virtual void set_x(C* x) = 0;
  /// The state as it is before the first phase.
  virtual void clear() = 0;
  /// The phases before the first iteration, once r() holds b - A x.
  virtual void start() = 0;
  virtual void iterate() = 0;
  /// `count` iterations.
  virtual void iterate_times(int count) {
    for (int i = 0; i < count; ++i) iterate();
  }
  /// Iterations worth enqueueing before the stop flag is read.
  virtual int batch(int usual) const { return usual; }
  /// Whether a batch is one launch, so that nothing is gained by recording it.
  virtual bool is_one_launch() const { return false; }
  /// Whether M has to be Hermitian.
  virtual bool wants_hermitian_preconditioner() const { return false; }
  /// The phases between a stop as converged, taken back, and the next iteration.
  virtual void resume() = 0;

  /// The beginning of the state, in backend memory.
  virtual SolveControl* control() const = 0;
  virtual C* r() const = 0;
  /// A vector that is free between iterations.
  virtual C* scratch() const = 0;
};

/// What a solver computes with.
template <Scalar T>
struct SolverParts {
  SolverParts(const LinearOperator<T>& A_, const Preconditioner<T>& M_, const SolveOptions& options_)
      : backend(A_.backend()), ops(krylov_ops<T>(backend)), A(A_.impl()), M(M_.impl()), options(options_) {}
  index_t rows() const { return A.rows(); }
  std::size_t size() const { return static_cast<std::size_t>(A.rows()); }
  /// Elements of a vector that is only there with a preconditioner.
  std::size_t size_if_preconditioned() const { return M == nullptr ? 0 : size(); }
  /// Whether the solver may take all of the device.
  bool may_reside() const { return options.resident == Resident::automatic; }

  Backend backend;
  KrylovOps<T>& ops;
  const OperatorImpl<T>& A;
  const PreconditionerImpl<T>* M;
  SolveOptions options;
};

/// The state of a solver in backend memory, beside what it is at the beginning of a solve.
template <class State>
class DeviceState {
 public:
  DeviceState(const Backend& backend, const State& initial) : initial_(initial), state_(backend, 1) {
    static_assert(sizeof(State) <= most_state_bytes && sizeof(State) % sizeof(int) == 0);
  }
  State* get() const { return state_.data(); }
  void clear() { state_.backend().impl().set(state_.data(), &initial_, sizeof(State)); }

 private:
  State initial_;
  Array<State> state_;
};

/// Runs the recurrence to its end: batches of iterations, recorded once, with a look at the stop flag in between. A
/// claim of convergence that b - A x does not show is followed up to a smaller target, or from b - A x anew; so is a
/// stall for want of Z^H r = 0.
template <Scalar T>
SolveReport run_recurrence(SolveSession<T>& session, Recurrence<T>& solver);

/// A whole solve of at most options.max_iterations iterations, enqueued without a look at the outcome.
template <Scalar T>
void enqueue_recurrence(const SolverParts<T>& parts, Recurrence<T>& solver, const compute_t<T>* b, compute_t<T>* x,
                        SolveStatus* status);

}  // namespace blockjacobi::detail
