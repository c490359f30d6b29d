#include "backend/range.hpp"
#include "core/message.hpp"
#include "solver/enqueued.hpp"

#include <algorithm>

namespace blockjacobi {

namespace detail {

/// What a basis in single precision lets a cycle reduce the residual by.
constexpr double low_reduction = 1e-6;

/// GMRES(m) and its flexible variant: basis, small arrays and state in backend memory, and the phases of a cycle.
template <Scalar T>
class GmresCycle {
  using C = compute_t<T>;

 public:
  GmresCycle(const SolverParts<T>& parts, bool flexible)
      : parts_(parts),
        flexible_(flexible && parts.M != nullptr),
        low_(parts.options.basis == BasisPrecision::single && sizeof(real_t<T>) > sizeof(float)),
        restart_(effective_restart(parts)),
        basis_(parts.backend, low_ ? 0 : parts.size() * (count() + 1)),
        low_basis_(parts.backend, low_ ? parts.size() * (count() + 1) : 0),
        preconditioned_(parts.backend, flexible_ ? parts.size() * count() : parts.size_if_preconditioned()),
        u_(parts.backend, parts.size()),
        v_(parts.backend, low_ ? parts.size() : 0),
        small_(parts.backend, (count() + 1) * count() + 3 * (count() + 1) + count()),
        cosines_(parts.backend, count()),
        state_(parts.backend, gmres_initial_state(0.0, parts.options.max_iterations, low_ ? low_reduction : 0.0)),
        arrays_(divide()) {
    vectors_.n = parts.rows();
    vectors_.basis = basis_.data();
    vectors_.u = u_.data();
    if (!low_) return;
    vectors_.low_basis = low_basis_.data();
    vectors_.w = u_.data();  // u is only there between the cycles
    vectors_.v = v_.data();
  }

  int restart() const { return restart_; }
  GmresState* state() const { return state_.get(); }
  void clear() { state_.clear(); }

  /// Where begin() expects b - A x.
  T* first() const { return low_ ? vectors_.w : column(0); }
  /// A vector that is free between the cycles.
  T* scratch() const { return u_.data(); }

  void begin() { parts_.ops.gmres_begin(vectors_, arrays_, state_.get()); }

  /// Whether it is known, without waiting, that the solve has ended.
  bool has_ended() const { return seen() != nullptr && seen()->stop != 0; }

  /// Inner iteration j.
  void step(int j) {
    if (seen() != nullptr && gmres_is_idle(*seen())) return;
    const T* v = low_ ? vectors_.v : column(j);
    if (parts_.M != nullptr) {
      parts_.M->apply(v, preconditioned(j));
      v = preconditioned(j);
    }
    parts_.A.apply(v, low_ ? vectors_.w : column(j + 1));
    parts_.ops.gmres_orthogonalize(vectors_, arrays_, j, state_.get());
  }

  /// x += M^-1 V y, unless that is not finite.
  void correct(T* x) {
    if (seen() != nullptr && seen()->columns == 0) return;
    GmresVectors<T> directions = vectors_;
    if (flexible_) directions.basis = preconditioned_.data();
    parts_.ops.gmres_combine(directions, arrays_, state_.get());
    const T* correction = u_.data();
    if (parts_.M != nullptr && !flexible_) {
      parts_.M->apply(u_.data(), preconditioned_.data());
      correction = preconditioned_.data();
    }
    parts_.ops.gmres_check(parts_.rows(), correction, state_.get());
    parts_.ops.add(parts_.rows(), correction, x, &state_.get()->columns);
  }

 private:
  /// A cycle is never longer than the system or the limit; what a user asks for beyond that would only cost memory.
  static int effective_restart(const SolverParts<T>& parts) {
    return std::max(1, std::min({parts.options.restart, parts.options.max_iterations, parts.rows()}));
  }

  const GmresState* seen() const { return static_cast<const GmresState*>(parts_.ops.visible(state_.get())); }
  std::size_t count() const { return static_cast<std::size_t>(restart_); }
  T* column(int j) const { return basis_.data() + static_cast<std::size_t>(j) * parts_.size(); }
  /// M^-1 v_j.
  T* preconditioned(int j) const {
    return preconditioned_.data() + (flexible_ ? static_cast<std::size_t>(j) * parts_.size() : 0);
  }

  GmresSmall<C> divide() const {
    C* h = reinterpret_cast<C*>(small_.data());
    C* h2 = h + (count() + 1) * count();
    C* sn = h2 + count() + 1;
    C* g = sn + count() + 1;
    C* y = g + count() + 1;
    return {h, h2, cosines_.data(), sn, g, y, restart_};
  }

  const SolverParts<T>& parts_;
  bool flexible_;
  bool low_;
  int restart_;
  Array<T> basis_;
  Array<single_t<T>> low_basis_;
  Array<T> preconditioned_, u_, v_, small_;
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

  void enqueue(const T* b, T* x, SolveStatus* status) {
    auto& [backend, ops, A, M, options] = this->parts_;
    const index_t n = A.rows();
    cycle_.clear();
    ops.residual(A, b, x, cycle_.first());
    ops.begin_solve(n, b, cycle_.first(), x, stopping_rule(options, enqueued_margin),
                    M != nullptr ? M->failure() : nullptr, cycle_.state());
    cycle_.begin();
    for (index_t left = options.max_iterations; left > 0 && !cycle_.has_ended();) {
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
    if (!session_.begin(cycle_.first(), cycle_.state())) return end();
    divide();
    cycle_.begin();
    for (;;) {
      if (!look()) return end();
      if (host_.stop != 0) return session_.finish(static_cast<StopReason>(host_.stop), cycle_.scratch(), host_.beta);
      const bool goes_on = iterate();
      finish_.run();
      if (!goes_on) return end();
      begin_.run();
    }
  }

 private:
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
      if (!look()) return false;
      if (host_.cycle_stop != 0) break;
    }
    return true;
  }

  bool look() {
    session_.backend().impl().copy_to_host(&host_, cycle_.state(), sizeof(host_));
    const int norms = host_.history_size;
    if (norms > 0) {
      const int empty = 0;
      session_.backend().impl().copy_from_host(&cycle_.state()->history_size, &empty, sizeof(empty));
    }
    return session_.look(host_.history, norms, host_.iteration);
  }

  SolveSession<T>& session_;
  GmresCycle<T> cycle_;
  GmresState host_{};
  Phase begin_, finish_;
  std::vector<Phase> steps_;
};

void require_restart(const char* solver, const SolveOptions& options) {
  if (options.restart < 1)
    throw InvalidArgument(detail::message("{}: restart is {}, must be >= 1", solver, options.restart));
}

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
  workspace.impl().enqueue(b.data, x.data, status);
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
