#include "backend/range.hpp"
#include "solver/enqueued.hpp"
#include "solver/gmres_parts.hpp"

#include <algorithm>
#include <cstring>

namespace blockjacobi {

namespace detail {

/// GMRES(m) and its flexible variant: basis, small arrays and state in backend memory, and the phases of a cycle.
template <Scalar T>
class GmresCycle {
  using C = compute_t<T>;

 public:
  GmresCycle(const SolverParts<T>& parts, bool flexible)
      : parts_(parts),
        flexible_(flexible && parts.M != nullptr),
        low_(parts.options.basis == BasisPrecision::single && sizeof(real_t<T>) > sizeof(float)),
        restart_(gmres_restart(parts.options, parts.rows())),
        messages_(parts.backend, message_bytes(parts)),
        basis_(parts.backend, low_ ? 0 : parts.size() * (count() + 1)),
        low_basis_(parts.backend, low_ ? parts.size() * (count() + 1) : 0),
        preconditioned_(parts.backend, flexible_ ? parts.size() * count() : parts.size_if_preconditioned()),
        u_(parts.backend, parts.size()),
        v_(parts.backend, low_ ? parts.size() : 0),
        small_(parts.backend, gmres_small_size(count())),
        cosines_(parts.backend, count()),
        state_(parts.backend, gmres_initial_state(0.0, parts.options.max_iterations, low_ ? gmres_low_reduction : 0.0)),
        arrays_(gmres_divide(small_.data(), cosines_.data(), restart_)) {
    vectors_.n = parts.rows();
    vectors_.basis = basis_.data();
    vectors_.u = u_.data();
    if (!low_) return;
    vectors_.low_basis = low_basis_.data();
    vectors_.w = u_.data();  // u is only there between the cycles
    vectors_.v = v_.data();
  }

  int restart() const { return restart_; }
  /// Whether run() takes the place of the steps and of what follows them.
  bool resides() const { return messages_.size() > 0; }
  GmresState* state() const { return state_.get(); }
  void clear() {
    state_.clear();
    messages_.zero();
  }

  /// Where begin() expects b - A x.
  C* first() const { return low_ ? vectors_.w : column(0); }
  /// A vector that is free between the cycles.
  C* scratch() const { return u_.data(); }

  void begin() { parts_.ops.gmres_begin(vectors_, arrays_, state_.get()); }

  /// Whole cycles in one go, each to the beginning of the next.
  void run(int cycles, const C* b, C* x) {
    parts_.ops.gmres_cycles(parts_.A, parts_.M, basis_.data(), restart_, b, x, messages_.data(), cycles, state_.get());
  }

  /// Whether it is known, without waiting, that the solve has ended.
  bool has_ended() const { return seen() != nullptr && seen()->stop != 0; }

  /// Inner iteration j.
  void step(int j) {
    if (seen() != nullptr && gmres_is_idle(*seen())) return;
    const C* v = low_ ? vectors_.v : column(j);
    if (parts_.M != nullptr) {
      parts_.M->apply(v, preconditioned(j));
      v = preconditioned(j);
    }
    parts_.A.apply(v, low_ ? vectors_.w : column(j + 1));
    parts_.ops.gmres_orthogonalize(vectors_, arrays_, j, state_.get());
  }

  /// x += M^-1 V y, unless that is not finite.
  void correct(C* x) {
    if (seen() != nullptr && seen()->columns == 0) return;
    GmresVectors<T> directions = vectors_;
    if (flexible_) directions.basis = preconditioned_.data();
    parts_.ops.gmres_combine(directions, arrays_, state_.get());
    const C* correction = u_.data();
    if (parts_.M != nullptr && !flexible_) {
      parts_.M->apply(u_.data(), preconditioned_.data());
      correction = preconditioned_.data();
    }
    parts_.ops.gmres_check(parts_.rows(), correction, state_.get());
    parts_.ops.add(parts_.rows(), correction, x, &state_.get()->columns);
  }

 private:
  std::size_t message_bytes(const SolverParts<T>& parts) const {
    const bool may_reside = !flexible_ && !low_ && parts.may_reside();
    return may_reside ? parts.ops.gmres_message_bytes(parts.A, parts.M, restart_) : 0;
  }

  const GmresState* seen() const { return static_cast<const GmresState*>(parts_.ops.visible(state_.get())); }
  std::size_t count() const { return static_cast<std::size_t>(restart_); }
  C* column(int j) const { return basis_.data() + static_cast<std::size_t>(j) * parts_.size(); }
  /// M^-1 v_j.
  C* preconditioned(int j) const {
    return preconditioned_.data() + (flexible_ ? static_cast<std::size_t>(j) * parts_.size() : 0);
  }

  const SolverParts<T>& parts_;
  bool flexible_;
  bool low_;
  int restart_;
  Array<std::byte> messages_;  ///< between thread blocks that reside
  Array<C> basis_;
  Array<compute_t<single_t<T>>> low_basis_;
  Array<C> preconditioned_, u_, v_, small_;
  Array<double> cosines_;
  DeviceState<GmresState> state_;
  GmresSmall<C> arrays_;
  GmresVectors<T> vectors_;
};

template <Scalar T>
class EnqueuedGmres final : public Enqueued<T> {
 public:
  EnqueuedGmres(const LinearOperator<T>& A, const Preconditioner<T>& M, const SolveOptions& options)
      : Enqueued<T>("GmresWorkspace", A, M, options), cycle_(this->parts_, false) {}

  void enqueue(const compute_t<T>* b, compute_t<T>* x, SolveStatus* status) {
    const Range range("enqueued solve");
    const typename Enqueued<T>::OwnScratch scratch(*this);
    auto& [backend, ops, A, M, options] = this->parts_;
    const index_t n = A.rows();
    cycle_.clear();
    ops.residual(A, b, x, cycle_.first());
    ops.begin_solve(n, b, cycle_.first(), x, stopping_rule(options, enqueued_margin),
                    M != nullptr ? M->failure() : nullptr, cycle_.state());
    cycle_.begin();
    index_t left = options.max_iterations;
    if (cycle_.resides()) {
      cycle_.run(left / cycle_.restart() + (left % cycle_.restart() != 0 ? 1 : 0), b, x);
      left = 0;
    }
    while (left > 0 && !cycle_.has_ended()) {
      const int steps = std::min(cycle_.restart(), left);
      for (int j = 0; j < steps; ++j) cycle_.step(j);
      cycle_.correct(x);
      ops.residual(A, b, x, cycle_.first());
      cycle_.begin();
      left -= steps;
    }
    ops.residual(A, b, x, cycle_.scratch());
    ops.end_solve(n, cycle_.scratch(), cycle_.state(), status);
  }

 private:
  GmresCycle<T> cycle_;
};

namespace {

/// One solve: cycles, with a look at the state after every few inner iterations.
template <Scalar T>
class Gmres {
 public:
  Gmres(SolveSession<T>& session, const SolverParts<T>& parts, bool flexible)
      : session_(session), cycle_(parts, flexible) {}

  SolveReport run() {
    cycle_.clear();
    session_.begin(cycle_.first(), cycle_.state());
    cycle_.begin();
    if (cycle_.resides()) return run_resident();
    divide();
    read();
    if (!session_.begun(host_)) return end();
    for (bool goes_on = look();; goes_on = read_and_look()) {
      if (!goes_on) return end();
      if (host_.stop != 0) return finish();
      const bool iterated = iterate();
      finish_.run();
      if (!iterated) return end();
      begin_.run();
    }
  }

 private:
  /// Launches of as many cycles as the state has room for their norms; the next one is under way while the host looks
  /// at what one of them did. Nothing happens after the stop.
  SolveReport run_resident() {
    const auto snapshots = session_.backend().impl().snapshots(cycle_.state(), sizeof(host_));
    const auto take = [&] {
      snapshots->take();
      forget_history();
    };
    const auto next = [&] { std::memcpy(&host_, snapshots->next(), sizeof(host_)); };
    const auto enqueue = [&] {
      cycle_.run(history_capacity / cycle_.restart(), session_.b(), session_.x());
      take();
    };
    const int depth = session_.options().progress ? 1 : snapshots->depth();  // a callback stops what it has seen
    take();
    if (depth > 1 && session_.options().max_seconds == 0.0) enqueue();  // before a look that nobody asked for
    next();
    const bool begun = session_.begun(host_);
    for (;;) {
      const bool goes_on = begun && session_.look(host_.history, host_.history_size, host_.iteration);
      if (goes_on && host_.stop == 0) {
        while (snapshots->under_way() < depth) enqueue();
        next();
        continue;
      }
      while (snapshots->under_way() > 0) {
        next();
        session_.collect(host_.history, host_.history_size, host_.iteration);
      }
      return goes_on ? finish() : end();
    }
  }

  void forget_history() { session_.backend().impl().zero(&cycle_.state()->history_size, sizeof(int)); }

  /// The last cycle has found b - A x.
  SolveReport finish() { return session_.finish(static_cast<StopReason>(host_.stop), cycle_.scratch(), host_.beta); }
  SolveReport end() { return session_.finish(session_.report().reason, cycle_.scratch()); }

  /// A part of a cycle. The first time it is enqueued as it is, and recorded while the device is busy with it.
  class Phase {
   public:
    Phase() = default;
    Phase(BackendImpl& backend, bool capturable, std::function<void()> body)
        : backend_(&backend), capturable_(capturable), body_(std::move(body)) {}
    void run() {
      if (recording_ != nullptr) return recording_->replay();
      body_();
      recording_ = backend_->record(body_, capturable_);
    }

   private:
    BackendImpl* backend_ = nullptr;
    bool capturable_ = false;
    std::function<void()> body_;
    std::unique_ptr<Recording> recording_;
  };

  /// A cycle into begin, batches of inner iterations, correction of x.
  void divide() {
    auto& impl = session_.backend().impl();
    const bool capturable = session_.capturable();
    const int batch = session_.ops().batch();
    for (int first = 0; first < cycle_.restart(); first += batch) {
      const int last = std::min(first + batch, cycle_.restart());
      steps_.emplace_back(impl, capturable, [this, first, last] {
        for (int j = first; j < last; ++j) cycle_.step(j);
      });
    }
    finish_ = Phase(impl, capturable, [this] { cycle_.correct(session_.x()); });
    begin_ = Phase(impl, capturable, [this] {
      session_.ops().residual(session_.A(), session_.b(), session_.x(), cycle_.first());
      cycle_.begin();
    });
  }

  /// The inner iterations; false if clock or callback end the solve.
  bool iterate() {
    const Range range("iterations");
    for (Phase& batch : steps_) {
      batch.run();
      if (!read_and_look()) return false;
      if (host_.cycle_stop != 0) break;
    }
    return true;
  }

  void read() {
    session_.backend().impl().copy_to_host(&host_, cycle_.state(), sizeof(host_));
    if (host_.history_size > 0) forget_history();
  }
  bool look() { return session_.look(host_.history, host_.history_size, host_.iteration); }
  bool read_and_look() {
    read();
    return look();
  }

  SolveSession<T>& session_;
  GmresCycle<T> cycle_;
  GmresState host_{};
  Phase begin_, finish_;
  std::vector<Phase> steps_;
};

template <Scalar T>
SolveReport run_gmres(const char* name, bool flexible, const LinearOperator<T>& A, const Preconditioner<T>& M,
                      VectorView<const T> b, VectorView<T> x, const SolveOptions& options) {
  require_restart(name, options);
  SolveSession<T> session(name, A, M, b, x, options);
  const SolverParts<T> parts(A, M, options);
  const Range range("solve");
  return Gmres<T>(session, parts, flexible).run();
}

const SolveOptions& with_restart(const SolveOptions& options) {
  require_restart("GmresWorkspace", options);
  return options;
}

}  // namespace

}  // namespace detail

template <Scalar T>
SolveReport gmres(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                  std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                  const SolveOptions& options) {
  return detail::run_gmres("gmres", false, A, M, b, x, options);
}

template <Scalar T>
SolveReport fgmres(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                   std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                   const SolveOptions& options) {
  if (options.basis == BasisPrecision::single) throw InvalidArgument("fgmres: basis is single, which only gmres has");
  return detail::run_gmres("fgmres", true, A, M, b, x, options);
}

template <Scalar T>
GmresWorkspace<T>::GmresWorkspace(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                                  const SolveOptions& options)
    : impl_("GmresWorkspace", std::make_unique<detail::EnqueuedGmres<T>>(A, M, detail::with_restart(options))) {}
template <Scalar T>
GmresWorkspace<T>::GmresWorkspace(GmresWorkspace&&) noexcept = default;
template <Scalar T>
GmresWorkspace<T>& GmresWorkspace<T>::operator=(GmresWorkspace&&) noexcept = default;
template <Scalar T>
GmresWorkspace<T>::~GmresWorkspace() = default;

template <Scalar T>
void gmres_enqueue(GmresWorkspace<T>& workspace, std::type_identity_t<VectorView<const T>> b,
                   std::type_identity_t<VectorView<T>> x, SolveStatus* status) {
  workspace.impl().require_vectors({"gmres_enqueue", "gmres_enqueue: b", "gmres_enqueue: x", "gmres_enqueue: status"},
                                   b, x, status);
  workspace.impl().enqueue(detail::compute_cast(b.data), detail::compute_cast(x.data), status);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                    \
  template SolveReport gmres(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>,  \
                             const SolveOptions&);                                                                    \
  template SolveReport fgmres(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>, \
                              const SolveOptions&);                                                                   \
  template class GmresWorkspace<T>;                                                                                   \
  template void gmres_enqueue(GmresWorkspace<T>&, VectorView<const T>, VectorView<T>, SolveStatus*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
