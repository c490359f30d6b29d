#include "core/message.hpp"
#include "core/shared/scalar_steps.hpp"
#include "solver/recurrence.hpp"

#include <cmath>

namespace blockjacobi {

namespace {

/// Of products, applications and passes alone.
template <Scalar T>
class Richardson final : public detail::Recurrence<T> {
  using C = detail::compute_t<T>;
  using Step = detail::ScalarStep;

 public:
  Richardson(const detail::SolverParts<T>& parts, const C* b)
      : parts_(parts),
        b_(b),
        r_(parts.backend, parts.size()),
        z_(parts.backend, parts.size_if_preconditioned()),
        state_(parts.backend,
               detail::richardson_initial_state<C>(parts.options.max_iterations, parts.options.relaxation)) {}

  void set_x(C* x) override { x_ = x; }
  void clear() override { state_.clear(); }
  void start() override { check(); }
  void iterate() override {
    const C* z = r_.data();
    if (parts_.M != nullptr) {
      parts_.M->apply(r_.data(), z_.data());
      z = z_.data();
    }
    pass({parts_.rows(), {{x_, {{x_}, {z, &state_.get()->relaxation}}}}, {}}, Step::none);
    parts_.ops.residual(parts_.A, b_, x_, r_.data());
    check();
  }
  void resume() override {}
  detail::SolveControl* control() const override { return state_.get(); }
  C* r() const override { return r_.data(); }
  C* scratch() const override { return r_.data(); }

 private:
  void check() { pass({parts_.rows(), {}, {{r_.data(), r_.data()}}}, Step::richardson_outcome); }
  void pass(const detail::VectorPass<C>& pass, Step step) { parts_.ops.pass(pass, step, state_.get()); }

  const detail::SolverParts<T>& parts_;
  const C* b_;
  C* x_ = nullptr;
  Array<C> r_, z_;
  detail::DeviceState<detail::RichardsonState<C>> state_;
};

}  // namespace

template <Scalar T>
SolveReport richardson(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                       std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                       const SolveOptions& options) {
  if (!(options.relaxation > 0.0) || !std::isfinite(options.relaxation))
    throw InvalidArgument(detail::message("richardson: relaxation is {}, must be > 0 and finite", options.relaxation));
  detail::SolveSession<T> session("richardson", A, M, b, x, options);
  const detail::SolverParts<T> parts(A, M, options);
  Richardson<T> solver(parts, session.b());
  return run_recurrence(session, solver);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                         \
  template SolveReport richardson(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, \
                                  VectorView<T>, const SolveOptions&)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
