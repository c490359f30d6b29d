#include "backend/range.hpp"
#include "solver/enqueued.hpp"

namespace blockjacobi {

namespace detail {

namespace {

template <Scalar T>
const Preconditioner<T>& checked(const char* solver, const Preconditioner<T>& M) {
  require_coarse_mode(solver, M, {CoarseMode::additive, CoarseMode::adef2});
  return M;
}

}  // namespace

/// CG and its flexible variant, which differ in two dots.
template <Scalar T>
class Cg final : public Recurrence<T> {
  using C = compute_t<T>;

 public:
  Cg(const SolverParts<T>& parts, bool flexible)
      : parts_(parts),
        flexible_(flexible),
        r_(parts.backend, parts.size()),
        z_(parts.backend, parts.size_if_preconditioned()),
        p_(parts.backend, parts.size()),
        q_(parts.backend, parts.size()),
        messages_(parts.backend, !flexible && parts.may_reside() ? parts.ops.cg_message_elements(parts.A, parts.M) : 0),
        state_(parts.backend, cg_initial_state<C>(0.0, parts.options.max_iterations)),
        v_{parts.rows(), nullptr, r_.data(), parts.M == nullptr ? r_.data() : z_.data(), p_.data(), q_.data()} {}

  void set_x(C* x) override { v_.x = x; }
  void clear() override {
    state_.clear();
    p_.zero();
    q_.zero();
    messages_.zero();
  }
  void start() override {
    update();
    resume();
  }
  void iterate() override {
    if (flexible_)
      parts_.ops.fcg_product(parts_.A, v_, state_.get());
    else
      parts_.ops.cg_product(parts_.A, v_, state_.get());
    update();
    parts_.ops.cg_direction(v_, state_.get());
  }
  void iterate_times(int count) override {
    if (!is_one_launch()) return Recurrence<T>::iterate_times(count);
    parts_.ops.cg_iterations(parts_.A, parts_.M, v_, messages_.data(), count, state_.get());
  }
  /// No iteration after the stop costs anything.
  int batch(int usual) const override { return is_one_launch() ? history_capacity : usual; }
  bool is_one_launch() const override { return messages_.size() > 0; }
  bool wants_hermitian_preconditioner() const override { return true; }
  /// x has taken its step already.
  void resume() override {
    CgVectors<C> v = v_;
    v.x = nullptr;
    parts_.ops.cg_direction(v, state_.get());
  }
  SolveControl* control() const override { return state_.get(); }
  C* r() const override { return r_.data(); }
  C* scratch() const override { return q_.data(); }

 private:
  void update() {
    if (flexible_)
      parts_.ops.fcg_update(parts_.M, v_, state_.get());
    else
      parts_.ops.cg_update(parts_.M, v_, state_.get());
  }

  const SolverParts<T>& parts_;
  bool flexible_;
  Array<C> r_, z_, p_, q_;
  Array<C> messages_;  ///< between thread blocks that reside
  DeviceState<CgState<C>> state_;
  CgVectors<C> v_;
};

template <Scalar T>
class EnqueuedCg final : public Enqueued<T> {
 public:
  EnqueuedCg(const LinearOperator<T>& A, const Preconditioner<T>& M, const SolveOptions& options)
      : Enqueued<T>("CgWorkspace", A, checked("CgWorkspace", M), options), solver_(this->parts_, false) {}
  void enqueue(const compute_t<T>* b, compute_t<T>* x, SolveStatus* status) {
    const Range range("enqueued solve");
    const typename Enqueued<T>::OwnScratch scratch(*this);
    enqueue_recurrence(this->parts_, solver_, b, x, status);
  }

 private:
  Cg<T> solver_;
};

namespace {

template <Scalar T>
SolveReport run_cg(const char* name, bool flexible, const LinearOperator<T>& A, const Preconditioner<T>& M,
                   VectorView<const T> b, VectorView<T> x, const SolveOptions& options) {
  SolveSession<T> session(name, A, checked(name, M), b, x, options);
  const SolverParts<T> parts(A, M, options);
  Cg<T> solver(parts, flexible);
  return run_recurrence(session, solver);
}

}  // namespace

}  // namespace detail

template <Scalar T>
SolveReport cg(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
               std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
               const SolveOptions& options) {
  return detail::run_cg("cg", false, A, M, b, x, options);
}

template <Scalar T>
SolveReport fcg(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                std::type_identity_t<VectorView<const T>> b, std::type_identity_t<VectorView<T>> x,
                const SolveOptions& options) {
  return detail::run_cg("fcg", true, A, M, b, x, options);
}

template <Scalar T>
CgWorkspace<T>::CgWorkspace(const LinearOperator<T>& A, const std::type_identity_t<Preconditioner<T>>& M,
                            const SolveOptions& options)
    : impl_("CgWorkspace", std::make_unique<detail::EnqueuedCg<T>>(A, M, options)) {}
template <Scalar T>
CgWorkspace<T>::CgWorkspace(CgWorkspace&&) noexcept = default;
template <Scalar T>
CgWorkspace<T>& CgWorkspace<T>::operator=(CgWorkspace&&) noexcept = default;
template <Scalar T>
CgWorkspace<T>::~CgWorkspace() = default;

template <Scalar T>
void cg_enqueue(CgWorkspace<T>& workspace, std::type_identity_t<VectorView<const T>> b,
                std::type_identity_t<VectorView<T>> x, SolveStatus* status) {
  workspace.impl().require_vectors({"cg_enqueue", "cg_enqueue: b", "cg_enqueue: x", "cg_enqueue: status"}, b, x,
                                   status);
  workspace.impl().enqueue(detail::compute_cast(b.data), detail::compute_cast(x.data), status);
}

#define BLOCKJACOBI_INSTANTIATE(T)                                                                                 \
  template SolveReport cg(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>,  \
                          const SolveOptions&);                                                                    \
  template SolveReport fcg(const LinearOperator<T>&, const Preconditioner<T>&, VectorView<const T>, VectorView<T>, \
                           const SolveOptions&);                                                                   \
  template class CgWorkspace<T>;                                                                                   \
  template void cg_enqueue(CgWorkspace<T>&, VectorView<const T>, VectorView<T>, SolveStatus*)
BLOCKJACOBI_INSTANTIATE(float);
BLOCKJACOBI_INSTANTIATE(double);
BLOCKJACOBI_INSTANTIATE(std::complex<float>);
BLOCKJACOBI_INSTANTIATE(std::complex<double>);
#undef BLOCKJACOBI_INSTANTIATE

}  // namespace blockjacobi
