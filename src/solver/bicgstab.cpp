#include "solver/recurrence.hpp"

namespace blockjacobi {

namespace {

template <Scalar T>
class Bicgstab final : public detail::Recurrence<T> {
  using C = detail::compute_t<T>;

 public:
  explicit Bicgstab(const detail::SolverParts<T>& parts)
      : parts_(parts),
        resident_(parts.may_reside() && parts.ops.can_reside(parts.A, parts.M)),
        r_(parts.backend, parts.size()),
        shadow_(parts.backend, parts.size()),
        p_(parts.backend, parts.size()),
        v_(parts.backend, parts.size()),
        t_(parts.backend, parts.size()),
        y_(parts.backend, parts.size_if_preconditioned()),
        z_(parts.backend, parts.size_if_preconditioned()),
        messages_(parts.backend, resident_ ? 4 * parts.size() : 0),
        state_(parts.backend, detail::bicgstab_initial_state<C>(0.0, parts.options.max_iterations)) {
    const bool plain = parts.M == nullptr;
    vectors_ = {parts.rows(),
                nullptr,
                r_.data(),
                shadow_.data(),
                p_.data(),
                v_.data(),
                t_.data(),
                plain ? p_.data() : y_.data(),
                plain ? r_.data() : z_.data()};
  }

  void set_x(C* x) override { vectors_.x = x; }
  void clear() override {
    state_.clear();
    for (Array<C>* vector : {&p_, &v_, &t_, &y_, &z_, &messages_}) vector->zero();
  }
  void start() override {
    parts_.backend.impl().copy(shadow_.data(), r_.data(), r_.bytes());
    parts_.ops.bicgstab_update(vectors_, state_.get());  // by alpha = omega = 0: the dots alone
  }
  void iterate() override {
    parts_.ops.bicgstab_first(parts_.A, parts_.M, vectors_, state_.get());
    parts_.ops.bicgstab_second(parts_.A, parts_.M, vectors_, state_.get());
    parts_.ops.bicgstab_update(vectors_, state_.get());
  }
  void iterate_times(int count) override {
    if (!resident_) return detail::Recurrence<T>::iterate_times(count);
    parts_.ops.bicgstab_iterations(parts_.A, parts_.M, vectors_, messages_.data(), count, state_.get());
  }
  /// No iteration after the stop costs anything.
  int batch(int usual) const override { return resident_ ? detail::history_capacity : usual; }
  bool is_one_launch() const override { return resident_; }
  void resume() override {}
  detail::SolveControl* control() const override { return state_.get(); }
  C* r() const override { return r_.data(); }
  C* scratch() const override { return t_.data(); }

 private:
  const detail::SolverParts<T>& parts_;
  bool resident_;  ///< all iterations of a batch in one go
  Array<C> r_, shadow_, p_, v_, t_, y_, z_;
  Array<C> messages_;  ///< between thread blocks that reside
  detail::DeviceState<detail::BicgstabState<C>> state_;
  detail::BicgstabVectors<C> vectors_;
};

}  // namespace

template <Scalar T>
SolveReport bicgstab(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                     std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                     const SolveOptions& options) {
  detail::SolveSession<T> session("bicgstab", A, M, b, x, options);
  const detail::SolverParts<T> parts(A, M, options);
  Bicgstab<T> solver(parts);
  return run_recurrence(session, solver);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                       \
  template SolveReport bicgstab(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, \
                                VectorView<T>, const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
