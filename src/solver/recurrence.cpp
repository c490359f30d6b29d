#include "solver/recurrence.hpp"

#include "backend/range.hpp"
#include "core/shared/scalar_steps.hpp"
#include "solver/headway.hpp"

#include <cmath>
#include <cstring>

namespace blockjacobi::detail {

namespace {

/// Brings x, and r = b - A x with it, to where the preconditioner wants a recurrence to begin. No x moves after a stop.
template <Scalar T>
void correct_start(const Backend& backend, KrylovOps<T>& ops, const OperatorImpl<T>& A, const PreconditionerImpl<T>* M,
                   Recurrence<T>& solver, const compute_t<T>* b, compute_t<T>* x) {
  compute_t<T>* const u = solver.scratch();
  if (M == nullptr || !M->correct_start(solver.r(), u)) return;
  ops.pass({A.rows(), {{x, {{x}, {u}}}}, {}}, ScalarStep::none, solver.control());
  backend.impl().zero(u, static_cast<std::size_t>(A.rows()) * sizeof(T));  // phases may take multiples of it by 0
  ops.residual(A, b, x, solver.r());
}

/// One solve, with a copy of the control on the host that lags behind the batches of iterations enqueued meanwhile.
template <Scalar T>
class Run {
 public:
  Run(SolveSession<T>& session, Recurrence<T>& solver)
      : session_(session),
        solver_(solver),
        snapshots_(session.backend().impl().snapshots(solver.control(), sizeof(SolveControl))) {}

  SolveReport operator()() {
    solver_.set_x(session_.x());
    solver_.clear();
    session_.begin(solver_.r(), solver_.control());
    start();
    enqueue_ahead();
    read();
    if (!session_.begun(host_)) {
      drain();
      return end(session_.report().reason);
    }
    target_ = session_.target();
    headway_ = Headway(session_.report().initial_residual);
    for (bool goes_on = look();; goes_on = read_and_look()) {
      if (!goes_on) return end(session_.report().reason);
      if (host_.stop == 0 && !must_follow_up()) {
        while (snapshots_->under_way() < depth() && !is_enough_under_way()) enqueue_batch();
        continue;
      }
      drain();
      const bool drifted = host_.stop == 0;
      const auto reason = drifted ? StopReason::stagnation : static_cast<StopReason>(host_.stop);
      if (!drifted && reason != StopReason::converged && reason != StopReason::breakdown) return end(reason);
      const double found = session_.true_residual(solver_.scratch());
      if (found <= session_.target()) return end(StopReason::converged, found);
      if (host_.iteration >= host_.max_iterations) return end(StopReason::max_iterations, found);
      if (!(reason == StopReason::converged && go_on(found)) && !begin_anew(found, drifted))
        return end(reason == StopReason::converged ? StopReason::stagnation : reason, found);
    }
  }

 private:
  /// Batches under way; a callback stops what it has seen, nothing later.
  int depth() const { return session_.options().progress ? 1 : snapshots_->depth(); }

  /// The phases before the first iteration, and a look at their outcome.
  void start() {
    const Range range("start");
    correct_start(session_.backend(), session_.ops(), session_.A(), session_.M(), solver_, session_.b(), session_.x());
    solver_.start();
    take();
  }
  /// Before a look that nobody asked for: a batch does nothing after a stop.
  void enqueue_ahead() {
    if (solver_.is_one_launch() && depth() > 1 && session_.options().max_seconds == 0.0) enqueue_batch();
  }
  int batch_size() const { return solver_.batch(batch_of(session_.ops(), session_.M())); }
  /// The first one goes as it is; it is recorded for the others while the device is busy with it.
  void enqueue_batch() {
    const Range range("iterations");
    const auto iterate = [this] { solver_.iterate_times(batch_size()); };
    if (batch_ != nullptr) {
      batch_->replay();
      return take();
    }
    iterate();
    take();
    batch_ = session_.backend().impl().record(iterate, session_.capturable() && !solver_.is_one_launch());
  }
  /// Whether more than what is under way would be launches with nothing to do, if norms go on falling as they did
  /// between the last two looks.
  bool is_enough_under_way() const {
    const int ahead = snapshots_->under_way() * batch_size();
    if (ahead == 0) return false;
    const double fall = std::log(last_residual_ / host_.residual) / (host_.iteration - last_iteration_);
    return host_.iteration + ahead >= host_.max_iterations || fall * ahead >= std::log(host_.residual / host_.target);
  }
  /// The control with the norms since the last snapshot.
  void take() {
    snapshots_->take();
    session_.backend().impl().zero(&solver_.control()->history_size, sizeof(int));
  }

  void write(const SolveControl& control) {
    session_.backend().impl().set(solver_.control(), &control, sizeof(control));
  }

  /// The oldest snapshot.
  void read() {
    last_residual_ = host_.residual;
    last_iteration_ = host_.iteration;
    std::memcpy(&host_, snapshots_->next(), sizeof(host_));
  }
  bool read_and_look() {
    read();
    return look();
  }
  /// Hands the history on that was read.
  bool look() {
    const bool goes_on = session_.look(host_.history, host_.history_size, host_.iteration);
    host_.history_size = 0;
    if (!goes_on) drain();
    return goes_on;
  }

  /// Collects what the batches did that were enqueued meanwhile: nothing after a stop.
  void drain() {
    while (snapshots_->under_way() > 0) {
      read();
      session_.collect(host_.history, host_.history_size, host_.iteration);
      host_.history_size = 0;
    }
  }

  /// Whether a recurrence that ran has lost Z^H r = 0 and cannot do without, or has stopped meanwhile. At a look
  /// nothing is under way, so that r is that of the iteration looked at.
  bool must_follow_up() {
    if (!solver_.wants_hermitian_preconditioner() || !may_drift(session_.M()) || !headway_.is_missing(host_))
      return false;
    drain();
    if (host_.stop != 0 || !headway_.is_missing(host_)) return host_.stop != 0;
    compute_t<T>* const u = solver_.scratch();
    const bool drifted = has_drifted(*session_.M(), solver_.r(), u, [this](auto* v) { return session_.norm(v); });
    session_.backend().impl().zero(u, static_cast<std::size_t>(session_.rows()) * sizeof(T));  // as correct_start()
    if (!drifted) headway_.wait();
    return drifted;
  }

  /// The recurrence claims convergence, but ||b - A x|| = found is larger: on to a smaller target, while the two are
  /// close.
  bool go_on(double found) {
    target_ *= 0.5;
    if (!(found < 2.0 * session_.target() && target_ > 0.05 * session_.target())) return false;
    host_.stop = 0;
    host_.target = target_;
    write(host_);
    solver_.resume();
    take();
    return true;
  }

  /// From b - A x, which the scratch vector holds, if that promises something.
  bool begin_anew(double found, bool drifted) {
    if (!headway_.may_begin_anew(found, drifted)) return false;
    target_ = session_.target();
    host_.stop = 0;
    host_.target = target_;
    if (solver_.r() != solver_.scratch())
      session_.backend().impl().copy(solver_.r(), solver_.scratch(),
                                     static_cast<std::size_t>(session_.rows()) * sizeof(T));
    solver_.clear();
    write(host_);
    start();
    enqueue_ahead();
    return true;
  }

  SolveReport end(StopReason reason, std::optional<double> known = std::nullopt) {
    return session_.finish(reason, solver_.scratch(), known);
  }

  SolveSession<T>& session_;
  Recurrence<T>& solver_;
  std::unique_ptr<Snapshots> snapshots_;
  std::unique_ptr<Recording> batch_;
  SolveControl host_{};
  double last_residual_ = 0.0;  ///< of the snapshot before
  int last_iteration_ = 0;      ///< the same
  double target_ = 0.0;         ///< of the recurrence
  Headway headway_;
};

}  // namespace

template <Scalar T>
SolveReport run_recurrence(SolveSession<T>& session, Recurrence<T>& solver) {
  const Range range("solve");
  return Run<T>(session, solver)();
}

template <Scalar T>
void enqueue_recurrence(const SolverParts<T>& parts, Recurrence<T>& solver, const compute_t<T>* b, compute_t<T>* x,
                        SolveStatus* status) {
  const index_t n = parts.rows();
  solver.set_x(x);
  solver.clear();
  parts.ops.residual(parts.A, b, x, solver.r());
  parts.ops.begin_solve(n, b, solver.r(), x, stopping_rule(parts.options, enqueued_margin),
                        parts.M != nullptr ? parts.M->failure() : nullptr, solver.control());
  correct_start(parts.backend, parts.ops, parts.A, parts.M, solver, b, x);
  solver.start();
  if (const SolveControl* const seen = parts.ops.visible(solver.control()))
    for (index_t i = 0; i < parts.options.max_iterations && seen->stop == 0; ++i) solver.iterate();
  else
    solver.iterate_times(parts.options.max_iterations);
  parts.ops.residual(parts.A, b, x, solver.scratch());
  parts.ops.end_solve(n, solver.scratch(), solver.control(), status);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                            \
  template SolveReport run_recurrence(SolveSession<T>&, Recurrence<T>&);                                      \
  template void enqueue_recurrence(const SolverParts<T>&, Recurrence<T>&, const compute_t<T>*, compute_t<T>*, \
                                   SolveStatus*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi::detail
