#pragma once

#include "tests/kernels/cg_recurrence.hpp"

namespace blockjacobi::test {

using detail::GmresState;

/// What a solve by GMRES(m) has in the memory of a backend.
template <Scalar T>
class Cycles {
  using C = compute_t<T>;

 public:
  Cycles(const Backend& backend, const System<T>& a, Way way, int restart, int max_iterations = 1000,
         double target = 0.0, const std::optional<TwoLevelOptions>& level = {})
      : backend_(backend),
        n_(a.rows),
        restart_(restart),
        system_(on<std::int32_t>(backend, a)),
        product_(ops().make_csr(system_.view())),
        blocks_(std::in_place, backend, system_.view(), partition<T>(n_, way)),
        b_(backend, random_vector<T>(size(), 42)),
        x_(backend, random_vector<T>(size(), 41)),
        u_(backend, size()),
        z_(backend, size()),
        // Columns that a step has not yet filled must never count.
        basis_(backend, std::vector<T>(size() * (m() + 1), std::numeric_limits<real_t<T>>::quiet_NaN())),
        small_(backend, (m() + 1) * m() + 3 * (m() + 1) + m()),
        cosines_(backend, m()),
        messages_(backend, 0),
        state_(backend, std::vector<GmresState>{detail::gmres_initial_state(target, max_iterations)}) {
    if (level) two_level_.emplace(SparseMatrix<T>(backend, system_.view()), std::move(*blocks_), *level);
    messages_ = Array<std::byte>(backend, ops().gmres_message_bytes(*product_, &preconditioner(), restart));
    messages_.zero();
    begin();
  }

  /// By the phases.
  void cycle() {
    for (int j = 0; j < restart_; ++j) {
      preconditioner().apply(column(j), data_of(z_));
      product_->apply(data_of(z_), column(j + 1));
      ops().gmres_orthogonalize(vectors(), small(), j, state_.data());
    }
    ops().gmres_combine(vectors(), small(), state_.data());
    preconditioner().apply(data_of(u_), data_of(z_));
    ops().gmres_check(n_, data_of(z_), state_.data());
    ops().add(n_, data_of(z_), data_of(x_), &state_.data()->columns);
    begin();
  }
  bool resides() const { return messages_.size() > 0; }
  /// Several cycles in one launch.
  void cycles(int count) {
    ops().gmres_cycles(*product_, &preconditioner(), data_of(basis_), restart_, data_of(b_), data_of(x_),
                       messages_.data(), count, state_.data());
  }
  /// The same in thread blocks with so much shared memory.
  void cycles_within(int count, int shared_bytes) {
    const auto a = system_.view();
    const auto correction = preconditioner().coarse_correction();
    const auto blocks = *(correction ? correction->first : preconditioner()).inverse()->full;
    const auto run = [&](const auto&... coarse) {
      kernels::gmres_resident<C>(
          {a.rows, a.cols, a.nnz, a.row_offsets, a.columns, compute_cast(a.values), a.base, a.space}, blocks, coarse...,
          data_of(basis_), restart_, data_of(b_), data_of(x_), messages_.data(), count, state_.data(),
          backend_.stream(), shared_bytes);
    };
    if (correction)
      run(correction->coarse);
    else
      run();
    backend_.synchronize();
  }

  index_t coarse_order() const { return two_level_->report().size; }
  /// The matrix is 0 from now on; M stays.
  void clear_matrix() { system_.values.zero(); }
  /// All its entries are NaN.
  void spoil_matrix() {
    const std::vector<T> nan(system_.values.size(), T(std::numeric_limits<real_t<T>>::quiet_NaN()));
    system_.values.copy_from_host(nan.data());
  }

  /// The state keeps history_capacity norms until the host takes them.
  void forget_history() { backend_.impl().zero(&state_.data()->history_size, sizeof(int)); }
  GmresState state() const { return state_.to_host()[0]; }
  std::vector<T> x() const { return x_.to_host(); }
  /// The first column of the next cycle.
  std::vector<T> first() const {
    std::vector<T> values = basis_.to_host();
    values.resize(size());
    return values;
  }
  /// ||b - A x||.
  double residual() {
    Array<double> norm(backend_, 1);
    ops().residual(*product_, data_of(b_), data_of(x_), data_of(u_));
    ops().norm(n_, data_of(u_), norm.data());
    return norm.to_host()[0];
  }

 private:
  void begin() {
    ops().residual(*product_, data_of(b_), data_of(x_), column(0));
    ops().gmres_begin(vectors(), small(), state_.data());
  }
  const detail::PreconditionerImpl<T>& preconditioner() const {
    return two_level_ ? two_level_->preconditioner() : blocks_->preconditioner();
  }
  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  std::size_t m() const { return static_cast<std::size_t>(restart_); }
  C* column(int j) { return data_of(basis_) + static_cast<std::size_t>(j) * size(); }
  detail::GmresVectors<T> vectors() { return {n_, data_of(basis_), data_of(u_), nullptr}; }
  detail::GmresSmall<C> small() {
    C* const h = data_of(small_);
    C* const h2 = h + (m() + 1) * m();
    C* const sn = h2 + m() + 1;
    C* const g = sn + m() + 1;
    return {h, h2, cosines_.data(), sn, g, g + m() + 1, restart_};
  }

  Backend backend_;
  index_t n_;
  int restart_;
  CsrArrays<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
  std::optional<BlockJacobi<T>> blocks_;  ///< until they are those of two_level_
  std::optional<TwoLevel<T>> two_level_;
  Array<T> b_, x_, u_, z_, basis_, small_;
  Array<double> cosines_;
  Array<std::byte> messages_;
  Array<GmresState> state_;
};

/// A product a step, and those of the residuals before and after.
template <Scalar T>
double rounding(const System<T>& a, int steps) {
  return rounding_of_iterations(a, steps + 2, 32);
}

template <Scalar T>
void expect_same(Cycles<T>& found, Cycles<T>& expected, double tolerance) {
  const GmresState a = found.state(), b = expected.state();
  EXPECT_EQ(a.iteration, b.iteration);
  EXPECT_EQ(a.stop, b.stop);
  EXPECT_EQ(a.misses, b.misses);
  ASSERT_EQ(a.history_size, b.history_size);
  for (int i = 0; i < a.history_size; ++i) EXPECT_NEAR(a.history[i], b.history[i], tolerance * b.history[0]) << i;
  EXPECT_NEAR(a.beta, b.beta, tolerance * b.history[0]);
  EXPECT_LE(relative_difference(found.x(), expected.x()), tolerance);
  // What the state says of x is true.
  EXPECT_NEAR(found.residual(), a.beta, tolerance * b.history[0]);
}

}  // namespace blockjacobi::test
