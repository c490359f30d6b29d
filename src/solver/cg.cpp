#include "solver/session.hpp"

namespace blockjacobi {

namespace {

using detail::CgState;
using detail::compute_t;

/// One solve: vectors, state in backend memory, and its copy on the host.
template <Scalar T>
class Cg {
 public:
  explicit Cg(detail::SolveSession<T>& session)
      : session_(session),
        r_(session.backend(), size()),
        z_(session.backend(), session.M() == nullptr ? 0 : size()),
        p_(session.backend(), size()),
        q_(session.backend(), size()),
        state_(session.backend(), 1),
        v_{session.rows(), session.x(), r_.data(), session.M() == nullptr ? r_.data() : z_.data(),
           p_.data(),      q_.data()} {}

  SolveReport run() {
    if (!session_.begin()) return session_.finish(session_.report().reason, q_.data());
    const auto steps =
        session_.backend().impl().record([this] { iterate(session_.ops().batch()); }, session_.capturable());
    double residual = session_.true_residual(r_.data());
    start(residual);
    for (;;) {
      if (!look()) return session_.finish(session_.report().reason, q_.data());
      if (host_.stop == 0) {
        steps->replay();
        continue;
      }
      const auto reason = static_cast<StopReason>(host_.stop);
      if (reason != StopReason::converged) return session_.finish(reason, q_.data());
      const double found = session_.true_residual(q_.data());
      if (!(found > session_.target())) return session_.finish(reason, q_.data(), found);
      if (!follow_up(found, residual)) return session_.finish(StopReason::stagnation, q_.data());
    }
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(session_.rows()); }

  void iterate(int count) {
    auto& ops = session_.ops();
    for (int i = 0; i < count; ++i) {
      ops.cg_product(session_.A(), v_, state_.data());
      ops.cg_update(session_.M(), v_, state_.data());
      ops.cg_direction(v_, state_.data());
    }
  }

  /// Begins a recurrence from the residual in r.
  void start(double residual) {
    const CgState<compute_t<T>> before = host_;
    host_ = detail::cg_initial_state<compute_t<T>>(session_.target(), session_.options().max_iterations);
    host_.iteration = before.iteration;
    host_.history_size = 0;
    recurrence_target_ = session_.target();
    restart_residual_ = residual;
    state_.copy_from_host(&host_);
    p_.zero();
    q_.zero();
    session_.ops().cg_update(session_.M(), v_, state_.data());
    session_.ops().cg_direction(v_, state_.data());
  }

  /// Reads the state and hands its history on.
  bool look() {
    state_.copy_to_host(&host_);
    const int count = host_.history_size;
    if (count > 0 && host_.stop == 0) {
      const int empty = 0;
      session_.backend().impl().copy_from_host(&state_.data()->history_size, &empty, sizeof(empty));
    }
    host_.history_size = 0;
    return session_.look(host_.history, count, host_.iteration);
  }

  /// The recurrence claims convergence but ||b - A x|| = `found` (with b - A x in q) exceeds the target: go on to a
  /// smaller target while the two are close, else begin anew from b - A x. False if that no longer helps.
  bool follow_up(double found, double& residual) {
    recurrence_target_ *= 0.5;
    if (found < 2.0 * session_.target() && recurrence_target_ > 0.05 * session_.target()) {
      detail::cg_resume(host_, recurrence_target_);
      state_.copy_from_host(&host_);
      session_.ops().cg_direction(v_, state_.data());
      return true;
    }
    if (!(found < 0.5 * restart_residual_)) return false;
    session_.backend().impl().copy(r_.data(), q_.data(), r_.bytes());
    residual = found;
    start(found);
    return true;
  }

  detail::SolveSession<T>& session_;
  Array<T> r_, z_, p_, q_;
  Array<CgState<compute_t<T>>> state_;
  detail::CgVectors<T> v_;
  CgState<compute_t<T>> host_{};
  double recurrence_target_ = 0.0;
  double restart_residual_ = 0.0;
};

}  // namespace

template <Scalar T>
SolveReport cg(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
               std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
               const SolveOptions& options) {
  detail::SolveSession<T> session("cg", A, M, b, x, options);
  return Cg<T>(session).run();
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                \
  template SolveReport cg(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>, \
                          const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
