#include "solver/columns_session.hpp"
#include "solver/headway.hpp"

#include <cstring>
#include <utility>

namespace blockjacobi {

namespace detail {

namespace {

/// One solve by CG of several columns: batches of iterations, recorded once, with a look at all states in between. What
/// the recurrences of columns claim is looked at, and followed up, when none runs any more.
template <Scalar T>
class CgColumns {
  using C = compute_t<T>;
  using State = CgState<C>;

 public:
  CgColumns(ColumnsSession<T>& session, const SolverParts<T>& parts)
      : session_(session),
        parts_(parts),
        ops_(parts.ops.columns()),
        shape_(session.shape()),
        x_(vector()),
        r_(vector()),
        z_(vector(parts.M != nullptr)),
        p_(vector()),
        q_(vector()),
        spare_(parts.backend, ops_.spare_size(shape_)),
        norms_(parts.backend, padded()),
        found_(initial_states()),
        states_(parts.backend, found_),
        v_{shape_, x_.data(), r_.data(), parts.M == nullptr ? r_.data() : z_.data(), p_.data(), q_.data()},
        targets_(padded()),
        headways_(padded()),
        snapshots_(parts.backend.impl().snapshots(states_.data(), states_.bytes())) {}

  std::vector<SolveReport> operator()() {
    if (!begin()) return finish();
    const std::unique_ptr<Recording> batch = parts_.backend.impl().record([this] { iterate(); }, capturable());
    take();
    for (;;) {
      if (!look()) {
        drain();
        ops_.cg_settle(v_, states_.data());
        return finish();
      }
      stop_drifted();
      if (is_any_running()) {
        const Range range("iterations");
        while (snapshots_->under_way() < depth()) {
          batch->replay();
          take();
        }
        continue;
      }
      drain();
      ops_.cg_settle(v_, states_.data());
      if (!follow_up()) return finish();
      take();
    }
  }

 private:
  std::size_t padded() const { return static_cast<std::size_t>(shape_.padded_columns()); }
  State& found(index_t c) { return found_[static_cast<std::size_t>(c)]; }
  double& target(index_t c) { return targets_[static_cast<std::size_t>(c)]; }
  Headway& headway(index_t c) { return headways_[static_cast<std::size_t>(c)]; }

  /// Zeros, so that places of no column are finite.
  Array<C> vector(bool wanted = true) const {
    Array<C> v(parts_.backend, wanted ? static_cast<std::size_t>(shape_.elements()) : 0);
    v.zero();
    return v;
  }
  std::vector<State> initial_states() const {
    std::vector<State> states(padded(), cg_initial_state<C>(0.0, parts_.options.max_iterations));
    for (std::size_t c = static_cast<std::size_t>(shape_.columns); c < states.size(); ++c)
      states[c].stop = static_cast<int>(StopReason::converged);
    return states;
  }

  bool capturable() const { return parts_.A.capturable() && (parts_.M == nullptr || parts_.M->capturable()); }
  int depth() const { return parts_.options.progress ? 1 : snapshots_->depth(); }

  void iterate() {
    for (int i = 0; i < batch_of(parts_.ops, parts_.M); ++i) {
      ops_.cg_product(parts_.A, v_, spare_.data(), states_.data());
      ops_.cg_update(parts_.M, v_, spare_.data(), states_.data());
    }
  }

  void residuals(C* r) { ops_.residual(parts_.A, shape_, session_.b(), v_.x, r, spare_.data()); }
  std::vector<double> true_residuals() {
    residuals(v_.q);
    ops_.norms(shape_, v_.q, norms_.data());
    return norms_.to_host();
  }

  /// False if no column needs an iteration.
  bool begin() {
    const Range range("start");
    ops_.to_bundles(shape_, {session_.x().data, session_.x().row_stride, session_.x().column_stride, shape_.columns}, 0,
                    v_.x);
    residuals(v_.r);
    ops_.begin_solve(shape_, session_.b(), v_.r, v_.x, stopping_rule(parts_.options),
                     parts_.M != nullptr ? parts_.M->failure() : nullptr, states_.data());
    read();
    std::vector<index_t> running;
    for (index_t c = 0; c < shape_.columns; ++c) {
      session_.begin(c, found(c));
      if (session_.has_ended(c)) continue;
      target(c) = session_.goal(c);
      headway(c) = Headway(found(c).initial_residual);
      running.push_back(c);
    }
    if (running.empty()) return false;
    correct_start(running);
    ops_.cg_update(parts_.M, v_, spare_.data(), states_.data());
    return true;
  }

  void read() { found_ = states_.to_host(); }
  void write() { states_.copy_from_host(found_.data()); }

  void copy_column(index_t c, const C* from, C* to) {
    ops_.from_bundles(shape_, from, c, {spare_.data()});
    ops_.to_bundles(shape_, {spare_.data()}, c, to);
  }

  /// Brings x of these columns, and r with it, to where the preconditioner wants a recurrence to begin.
  void correct_start(const std::vector<index_t>& columns) {
    C* const u = spare_.data();
    C* const x = spare_.data() + shape_.n;
    for (const index_t c : columns) {
      ops_.from_bundles(shape_, v_.r, c, {u});
      if (parts_.M == nullptr || !parts_.M->correct_start(u, u)) return;
      ops_.from_bundles(shape_, v_.x, c, {x});
      parts_.ops.add(shape_.n, u, x, nullptr);
      ops_.to_bundles(shape_, {x}, c, v_.x);
    }
    residuals(v_.q);
    for (const index_t c : columns) copy_column(c, v_.q, v_.r);
  }

  /// The states with the norms since the last snapshot.
  void take() {
    snapshots_->take();
    ops_.forget_histories(shape_, states_.data());
  }
  void read_snapshot() {
    std::memcpy(found_.data(), snapshots_->next(), states_.bytes());
    for (index_t c = 0; c < shape_.columns; ++c)
      if (!session_.has_ended(c)) session_.collect(c, found(c));
  }
  bool look() {
    read_snapshot();
    return session_.goes_on(found_);
  }
  void drain() {
    while (snapshots_->under_way() > 0) read_snapshot();
  }

  bool is_any_running() const {
    return std::any_of(found_.begin(), found_.end(), [](const State& state) { return state.stop == 0; });
  }

  bool lacks_headway(index_t c) { return found(c).stop == 0 && headway(c).is_missing(found(c)); }
  /// Whether column c runs without Z^H r = 0 and cannot do so; nothing is under way.
  bool drifted(index_t c) {
    if (!lacks_headway(c)) return false;
    ops_.from_bundles(shape_, v_.r, c, {spare_.data()});
    const auto norm = [this](const C* v) {
      double found = 0;
      parts_.ops.norm(shape_.n, v, norms_.data());
      parts_.backend.impl().copy_to_host(&found, norms_.data(), sizeof(found));  // the others may not be there
      return found;
    };
    if (has_drifted(*parts_.M, spare_.data(), spare_.data() + shape_.n, norm)) return true;
    headway(c).wait();
    return false;
  }
  /// Columns that have drifted() stop as stagnation, which no other column does, for follow_up().
  void stop_drifted() {
    if (!may_drift(parts_.M)) return;
    bool is_due = false;
    for (index_t c = 0; c < shape_.columns; ++c) is_due = lacks_headway(c) || is_due;
    if (!is_due) return;
    drain();
    for (index_t c = 0; c < shape_.columns; ++c)
      if (drifted(c)) found(c).stop = static_cast<int>(StopReason::stagnation);
    write();
  }

  /// Looks at b - A x, q having it then, of the columns that have stopped since the last time. Those go on that claim
  /// convergence and are not far from it, or begin anew from there if that promises something. False if none does.
  bool follow_up() {
    const std::vector<double> norms = true_residuals();
    std::vector<index_t> going_on, anew;
    for (index_t c = 0; c < shape_.columns; ++c) {
      found(c).alpha = C{};  // x has taken its step
      if (session_.has_ended(c)) continue;
      const auto reason = static_cast<StopReason>(found(c).stop);
      const double norm = norms[static_cast<std::size_t>(c)];
      const bool has_drifted = reason == StopReason::stagnation;
      if (reason != StopReason::converged && reason != StopReason::breakdown && !has_drifted)
        session_.end(c, reason, norm);
      else if (norm <= session_.goal(c))
        session_.end(c, StopReason::converged, norm);
      else if (found(c).iteration >= found(c).max_iterations)
        session_.end(c, StopReason::max_iterations, norm);
      else if (reason == StopReason::converged && may_go_on(c, norm))
        going_on.push_back(c);
      else if (headway(c).may_begin_anew(norm, has_drifted))
        anew.push_back(c);
      else
        session_.end(c, reason == StopReason::converged ? StopReason::stagnation : reason, norm);
    }
    if (!anew.empty()) begin_anew(anew);
    for (const index_t c : going_on) {
      found(c).stop = 0;
      found(c).target = target(c);
    }
    write();
    return !anew.empty() || !going_on.empty();
  }

  bool may_go_on(index_t c, double norm) {
    target(c) *= 0.5;
    return norm < 2.0 * session_.goal(c) && target(c) > 0.05 * session_.goal(c);
  }

  void begin_anew(const std::vector<index_t>& columns) {
    for (const index_t c : columns) {
      target(c) = session_.goal(c);
      State state = cg_initial_state<C>(target(c), parts_.options.max_iterations);
      state.SolveControl::operator=(found(c));
      state.stop = 0;
      state.target = target(c);
      found(c) = state;
      copy_column(c, v_.q, v_.r);
    }
    write();
    correct_start(columns);
    ops_.cg_update(parts_.M, v_, spare_.data(), states_.data());
    read();
  }

  std::vector<SolveReport> finish() {
    const std::vector<double> norms = session_.lacks_residuals() ? true_residuals() : std::vector<double>();
    ops_.from_bundles(shape_, v_.x, 0, session_.x());
    return session_.finish(norms);
  }

  ColumnsSession<T>& session_;
  const SolverParts<T>& parts_;
  ColumnsOps<T>& ops_;
  Bundles shape_;
  Array<C> x_, r_, z_, p_, q_, spare_;
  Array<double> norms_;
  std::vector<State> found_;  ///< as they were at the last look
  Array<State> states_;
  BundleVectors<C> v_;
  std::vector<double> targets_;  ///< of the recurrences
  std::vector<Headway> headways_;
  std::unique_ptr<Snapshots> snapshots_;
};

}  // namespace

}  // namespace detail

template <Scalar T>
std::vector<SolveReport> cg_columns(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                                    std::type_identity_t<MultiVectorView<const T>> B,
                                    std::type_identity_t<MultiVectorView<T>> X, const SolveOptions& options) {
  return detail::solve_columns<detail::CgColumns>(
      "cg_columns", A, M, B, X, options,
      [&](VectorView<const T> b, VectorView<T> x) { return cg(A, M, b, x, options); });
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                 \
  template std::vector<SolveReport> cg_columns(const LinearOperator<T>&, const Preconditioner<T>&, \
                                               MultiVectorView<const T>, MultiVectorView<T>, const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
