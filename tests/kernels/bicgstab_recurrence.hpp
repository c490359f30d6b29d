#pragma once

#include "tests/kernels/cg_recurrence.hpp"

namespace blockjacobi::test {

/// A matrix that shows nothing but its apply.
template <Scalar T>
class ProductOnly final : public detail::OperatorImpl<T> {
 public:
  explicit ProductOnly(const detail::OperatorImpl<T>& product) : product_(product) {}
  index_t rows() const override { return product_.rows(); }
  void apply(const compute_t<T>* x, compute_t<T>* y) const override { product_.apply(x, y); }
  bool capturable() const override { return true; }

 private:
  const detail::OperatorImpl<T>& product_;
};

/// The vectors and the state of BiCGSTAB on one backend.
template <Scalar T>
class Bicgstab {
  using C = compute_t<T>;
  using State = detail::BicgstabState<C>;

 public:
  Bicgstab(const Backend& backend, const System<T>& a, Way way, int max_iterations = 100)
      : backend_(backend),
        n_(a.rows),
        way_(way),
        system_(on<std::int32_t>(backend, a)),
        product_(ops().make_csr(system_.view())),
        b_(backend, random_vector<T>(size(), 42)),
        messages_(backend, 4 * size()),
        state_(backend, std::vector<State>{detail::bicgstab_initial_state<C>(0.0, max_iterations)}) {
    if (way == Way::separate) scaling_.emplace(backend, n_);
    if (way != Way::plain && way != Way::separate) blocks_.emplace(backend, system_.view(), partition<T>(n_, way));
    for (int k = 0; k < 8; ++k) vectors_.emplace_back(backend, random_vector<T>(size(), 41));
    for (Array<T>* vector : {&p(), &v(), &messages_}) vector->zero();
    ops().residual(*product_, data_of(b_), data_of(x()), data_of(r()));
    backend_.impl().copy(shadow().data(), r().data(), r().bytes());
    update();
  }

  void first() { ops().bicgstab_first(product(), preconditioner(), all(), state_.data()); }
  void second() { ops().bicgstab_second(product(), preconditioner(), all(), state_.data()); }
  void update() { ops().bicgstab_update(all(), state_.data()); }
  void iterate() {
    first();
    second();
    update();
  }
  /// From now on the matrix is multiplied by a phase of its own.
  void hide_matrix() { product_only_.emplace(*product_); }

  bool resides() { return ops().can_reside(product(), preconditioner()); }
  /// Several iterations in one launch.
  void iterations(int count) {
    ops().bicgstab_iterations(product(), preconditioner(), all(), data_of(messages_), count, state_.data());
  }
  /// The same in thread blocks with so much shared memory.
  void iterations_within(int count, int shared_bytes) {
    Array<std::byte> exchange(backend_, kernels::exchange_bytes());
    exchange.zero();
    messages_.zero();
    const auto a = system_.view();
    const auto inverse = *preconditioner()->inverse()->full;
    kernels::bicgstab_resident<C>(
        {a.rows, a.cols, a.nnz, a.row_offsets, a.columns, compute_cast(a.values), a.base, a.space}, inverse, all(),
        data_of(messages_), count, state_.data(), {nullptr, nullptr, exchange.data()}, backend_.stream(), shared_bytes);
    backend_.synchronize();
  }

  const Backend& backend() const { return backend_; }
  State state() const { return state_.to_host()[0]; }
  std::vector<Array<T>>& vectors() { return vectors_; }
  Array<T>& x() { return vectors_[0]; }
  Array<T>& r() { return vectors_[1]; }
  Array<T>& shadow() { return vectors_[2]; }
  Array<T>& p() { return vectors_[3]; }
  Array<T>& v() { return vectors_[4]; }
  Array<T>& t() { return vectors_[5]; }
  Array<T>& y() { return vectors_[way_ == Way::plain ? 3 : 6]; }
  Array<T>& z() { return vectors_[way_ == Way::plain ? 1 : 7]; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  const detail::OperatorImpl<T>& product() const {
    if (product_only_) return *product_only_;
    return *product_;
  }
  const detail::PreconditionerImpl<T>* preconditioner() const {
    if (blocks_) return &blocks_->preconditioner();
    return scaling_ ? &*scaling_ : nullptr;
  }
  detail::BicgstabVectors<C> all() {
    return {n_,           data_of(x()), data_of(r()), data_of(shadow()), data_of(p()),
            data_of(v()), data_of(t()), data_of(y()), data_of(z())};
  }

  Backend backend_;
  index_t n_;
  Way way_;
  CsrArrays<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
  std::optional<ProductOnly<T>> product_only_;
  std::optional<Scaling<T>> scaling_;
  std::optional<BlockJacobi<T>> blocks_;
  Array<T> b_;
  std::vector<Array<T>> vectors_;  ///< x r shadow p v t y z
  Array<T> messages_;
  Array<State> state_;
};

/// Two products an iteration, and one for the residual.
template <Scalar T>
double rounding(const System<T>& a, int iterations, int order = 32) {
  return rounding_of_iterations(a, 2 * iterations + 1, order);
}

}  // namespace blockjacobi::test
