#include "core/shared/scalar_steps.hpp"
#include "solver/recurrence.hpp"

namespace blockjacobi {

namespace {

/// From vectors, two dots and scalar steps alone: the passes are those of KrylovOps::pass().
template <Scalar T>
class Minres final : public detail::Recurrence<T> {
  using C = detail::compute_t<T>;
  using Pass = detail::VectorPass<C>;
  using Step = detail::ScalarStep;

 public:
  explicit Minres(const detail::SolverParts<T>& parts)
      : parts_(parts),
        r_(parts.backend, parts.size()),
        v_(parts.backend, parts.size()),
        old_v_(parts.backend, parts.size()),
        w_(parts.backend, parts.size()),
        old_w_(parts.backend, parts.size()),
        q_(parts.backend, parts.size()),
        z_(parts.backend, parts.size_if_preconditioned()),
        state_(parts.backend, detail::minres_initial_state<C>(parts.options.max_iterations)) {}

  void set_x(C* x) override { x_ = x; }
  void clear() override {
    state_.clear();
    for (Array<C>* vector : {&old_v_, &w_, &old_w_}) vector->zero();
  }
  void start() override {
    parts_.backend.impl().copy(v_.data(), r_.data(), r_.bytes());
    precondition();
    pass({rows(), {}, {{r_.data(), r_.data()}, {v_.data(), z()}}}, Step::minres_begin);
  }
  void iterate() override {
    const detail::MinresState<C>* s = state_.get();
    C *v = v_.data(), *old_v = old_v_.data(), *w = w_.data(), *old_w = old_w_.data(), *q = q_.data(), *r = r_.data();

    parts_.A.apply(parts_.M == nullptr ? v_.data() : z_.data(), q_.data());
    pass({rows(), {}, {{z(), q}}}, Step::minres_lanczos);

    pass({rows(),
          {{old_v, {{v}}},
           {v, {{q, &s->from_q}, {v, &s->from_v}, {old_v, &s->old_v}}},
           {old_w, {{w}}},
           {w, {{z(), &s->from_z}, {w, &s->from_w}, {old_w, &s->old_w}}}},
          {}},
         Step::none);
    precondition();
    pass({rows(), {}, {{v, z()}}}, Step::minres_rotate);

    pass({rows(), {{x_, {{x_}, {w, &s->step}}}, {r, {{r, &s->shrink}, {v, &s->back}}}}, {{r, r}}},
         Step::minres_outcome);
  }
  void resume() override {}
  detail::SolveControl* control() const override { return state_.get(); }
  C* r() const override { return r_.data(); }
  C* scratch() const override { return q_.data(); }

 private:
  index_t rows() const { return parts_.rows(); }
  const C* z() const { return parts_.M == nullptr ? v_.data() : z_.data(); }
  void precondition() {
    if (parts_.M != nullptr) parts_.M->apply(v_.data(), z_.data());
  }
  void pass(const Pass& pass, Step step) { parts_.ops.pass(pass, step, state_.get()); }

  const detail::SolverParts<T>& parts_;
  C* x_ = nullptr;
  Array<C> r_, v_, old_v_, w_, old_w_, q_, z_;
  detail::DeviceState<detail::MinresState<C>> state_;
};

}  // namespace

template <Scalar T>
SolveReport minres(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                   std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                   const SolveOptions& options) {
  detail::require_coarse_mode("minres", M, {CoarseMode::additive});
  detail::SolveSession<T> session("minres", A, M, b, x, options);
  const detail::SolverParts<T> parts(A, M, options);
  Minres<T> solver(parts);
  return run_recurrence(session, solver);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                    \
  template SolveReport minres(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>, \
                              const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
