#include "solver/session.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace blockjacobi {

namespace {

using detail::compute_t;
using detail::GmresState;

/// One solve: basis, small arrays and state in backend memory.
template <Scalar T>
class Gmres {
  using C = compute_t<T>;

 public:
  explicit Gmres(detail::SolveSession<T>& session)
      : session_(session),
        restart_(effective_restart(session)),
        basis_(session.backend(), size() * (count() + 1)),
        u_(session.backend(), size()),
        z_(session.backend(), session.M() == nullptr ? 0 : size()),
        small_(session.backend(), (count() + 1) * count() + 3 * (count() + 1) + count()),
        cosines_(session.backend(), count()),
        state_(session.backend(), 1),
        v_{session.rows(), basis_.data(), u_.data(), z_.data()},
        arrays_(divide()) {}

  SolveReport run() {
    if (!session_.begin()) return session_.finish(session_.report().reason, u_.data());
    record();
    host_ = detail::gmres_initial_state(session_.target(), session_.options().max_iterations);
    state_.copy_from_host(&host_);
    for (;;) {
      begin_->replay();
      if (!look()) return session_.finish(session_.report().reason, u_.data());
      if (host_.stop != 0) return session_.finish(static_cast<StopReason>(host_.stop), u_.data());
      const bool goes_on = cycle();
      finish_->replay();
      if (!goes_on) return session_.finish(session_.report().reason, u_.data());
    }
  }

 private:
  /// A cycle is never longer than the system or the limit; what a user asks for beyond that would only cost memory.
  static int effective_restart(const detail::SolveSession<T>& session) {
    const SolveOptions& options = session.options();
    return std::max(1, std::min({options.restart, options.max_iterations, session.rows()}));
  }

  std::size_t size() const { return static_cast<std::size_t>(session_.rows()); }
  std::size_t count() const { return static_cast<std::size_t>(restart_); }

  detail::GmresSmall<C> divide() const {
    C* h = reinterpret_cast<C*>(small_.data());
    C* h2 = h + (count() + 1) * count();
    C* sn = h2 + count() + 1;
    C* g = sn + count() + 1;
    C* y = g + count() + 1;
    return {h, h2, cosines_.data(), sn, g, y, restart_};
  }

  T* column(int j) const { return basis_.data() + static_cast<std::size_t>(j) * size(); }

  /// The phases of a cycle: begin, batches of inner iterations, correction of x.
  void record() {
    auto& impl = session_.backend().impl();
    const bool capturable = session_.capturable();
    begin_ = impl.record(
        [this] {
          session_.ops().residual(session_.A(), session_.b(), session_.x(), column(0));
          session_.ops().gmres_begin(v_, arrays_, state_.data());
        },
        capturable);
    const int batch = session_.ops().batch();
    for (int first = 0; first < restart_; first += batch) {
      const int last = std::min(first + batch, restart_);
      steps_.push_back(impl.record(
          [this, first, last] {
            for (int j = first; j < last; ++j) step(j);
          },
          capturable));
    }
    finish_ = impl.record([this] { correct(); }, capturable);
  }

  const T* precondition(const T* v) {
    if (session_.M() == nullptr) return v;
    session_.M()->apply(v, z_.data());
    return z_.data();
  }

  void step(int j) {
    session_.A().apply(precondition(column(j)), column(j + 1));
    session_.ops().gmres_orthogonalize(v_, arrays_, j, state_.data());
  }

  void correct() {
    session_.ops().gmres_combine(v_, arrays_, state_.data());
    session_.ops().add(session_.rows(), precondition(u_.data()), session_.x());
  }

  /// The inner iterations; false if clock or callback end the solve.
  bool cycle() {
    for (const auto& batch : steps_) {
      batch->replay();
      if (!look()) return false;
      if (host_.cycle_stop != 0) break;
    }
    return true;
  }

  bool look() {
    state_.copy_to_host(&host_);
    const int norms = host_.history_size;
    if (norms > 0) {
      const int empty = 0;
      session_.backend().impl().copy_from_host(&state_.data()->history_size, &empty, sizeof(empty));
    }
    return session_.look(host_.history, norms, host_.iteration);
  }

  detail::SolveSession<T>& session_;
  int restart_;
  Array<T> basis_, u_, z_, small_;
  Array<double> cosines_;
  Array<GmresState> state_;
  detail::GmresVectors<T> v_;
  detail::GmresSmall<C> arrays_;
  GmresState host_{};
  std::unique_ptr<detail::Recording> begin_, finish_;
  std::vector<std::unique_ptr<detail::Recording>> steps_;
};

}  // namespace

template <Scalar T>
SolveReport gmres(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                  std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                  const SolveOptions& options) {
  if (options.restart < 1) throw InvalidArgument(fmt::format("gmres: restart is {}, must be >= 1", options.restart));
  detail::SolveSession<T> session("gmres", A, M, b, x, options);
  return Gmres<T>(session).run();
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                   \
  template SolveReport gmres(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>, \
                             const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
