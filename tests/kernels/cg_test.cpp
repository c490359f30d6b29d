#include "tests/kernels/systems.hpp"

namespace blockjacobi::test {
namespace {

using detail::CgState;
using detail::CgVectors;
using detail::compute_t;

template <class T>
class CgPhasesTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CgPhasesTest, Scalars);

/// z = D r with D = diag(1/3, 1/4, 1/3, ...), by the operator of a diagonal matrix.
template <Scalar T>
class Scaling final : public detail::PreconditionerImpl<T> {
 public:
  Scaling(const Backend& backend, index_t n) : system_(backend, diagonal(n)), product_(make(backend)) {}
  index_t rows() const override { return product_->rows(); }
  void apply(const T* r, T* z) const override { product_->apply(r, z); }
  bool capturable() const override { return true; }

 private:
  static System<T> diagonal(index_t n) {
    System<T> a{n, {0}, {}, {}};
    for (index_t i = 0; i < n; ++i) {
      a.columns.push_back(i);
      a.values.push_back(T(real_t<T>(1) / real_t<T>(3 + i % 2)));
      a.offsets.push_back(i + 1);
    }
    return a;
  }
  auto make(const Backend& backend) { return detail::krylov_ops<T>(backend).make_csr(system_.view()); }

  DeviceSystem<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
};

/// The vectors and the state of one recurrence on one backend.
template <Scalar T>
class Recurrence {
  using State = CgState<compute_t<T>>;

 public:
  Recurrence(const Backend& backend, const System<T>& a, bool preconditioned, double target, int max_iterations)
      : backend_(backend),
        n_(a.rows),
        system_(backend, a),
        product_(ops().make_csr(system_.view())),
        x_(backend, random_vector<T>(size(), 41)),
        b_(backend, random_vector<T>(size(), 42)),
        r_(backend, size()),
        z_(backend, size()),
        p_(backend, size()),
        q_(backend, size()),
        state_(backend, std::vector<State>{detail::cg_initial_state<compute_t<T>>(target, max_iterations)}) {
    if (preconditioned) preconditioner_ = std::make_unique<Scaling<T>>(backend, n_);
    p_.zero();
    q_.zero();
    ops().residual(*product_, b_.data(), x_.data(), r_.data());
    update();
    direction();
  }

  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  CgVectors<T> vectors() {
    return {n_, x_.data(), r_.data(), preconditioner_ ? z_.data() : r_.data(), p_.data(), q_.data()};
  }
  void product() { ops().cg_product(*product_, vectors(), state_.data()); }
  void update() { ops().cg_update(preconditioner_.get(), vectors(), state_.data()); }
  void direction() { ops().cg_direction(vectors(), state_.data()); }
  void iterate() {
    product();
    update();
    direction();
  }

  State state() const { return state_.to_host()[0]; }
  void set_state(const State& state) { state_.copy_from_host(&state); }
  std::vector<T> x() const { return x_.to_host(); }
  std::vector<T> r() const { return r_.to_host(); }
  std::vector<T> z() const { return z_.to_host(); }
  std::vector<T> p() const { return p_.to_host(); }
  std::vector<T> q() const { return q_.to_host(); }
  const Backend& backend() const { return backend_; }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_); }

  Backend backend_;
  index_t n_;
  DeviceSystem<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
  std::unique_ptr<Scaling<T>> preconditioner_;
  Array<T> x_, b_, r_, z_, p_, q_;
  Array<State> state_;
};

template <class T>
std::complex<double> value(T a) {
  if constexpr (detail::Arithmetic<T>::is_complex)
    return {a.re, a.im};
  else
    return a;
}

template <class T>
void expect_close(const char* name, T a, T b, double tolerance) {
  EXPECT_LE(std::abs(value(a) - value(b)), tolerance * std::abs(value(b))) << name;
}

template <Scalar T>
void expect_same_phases(const System<T>& a, bool preconditioned) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << (preconditioned ? ", preconditioned" : ""));
  Recurrence<T> host(Backend::host(), a, preconditioned, 0.0, 100);
  Recurrence<T> device(Backend::cuda(), a, preconditioned, 0.0, 100);
  const double tolerance = 1e4 * epsilon<T>;
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    ASSERT_LE(relative_difference(device.p(), host.p()), tolerance);
    host.product();
    device.product();
    ASSERT_LE(relative_difference(device.q(), host.q()), tolerance);
    expect_close("pq", device.state().pq, host.state().pq, tolerance);
    expect_close("alpha", device.state().alpha, host.state().alpha, tolerance);
    host.update();
    device.update();
    ASSERT_LE(relative_difference(device.x(), host.x()), tolerance);
    ASSERT_LE(relative_difference(device.r(), host.r()), tolerance);
    if (preconditioned) {
      ASSERT_LE(relative_difference(device.z(), host.z()), tolerance);
    }
    expect_close("rr", device.state().rr, host.state().rr, tolerance);
    expect_close("rho", device.state().rho, host.state().rho, tolerance);
    expect_close("beta", device.state().beta, host.state().beta, tolerance);
    host.direction();
    device.direction();
    ASSERT_EQ(device.state().iteration, step + 1);
    ASSERT_EQ(device.state().stop, 0);
    ASSERT_EQ(device.state().history_size, host.state().history_size);
  }
}

TYPED_TEST(CgPhasesTest, SmallMatchTheHost) {
  for (const index_t m : {6, 16, 17, 40})
    for (const bool preconditioned : {false, true}) expect_same_phases(laplacian<TypeParam>(m), preconditioned);
}

TYPED_TEST(CgPhasesTest, MatchTheHostOnManyThreadBlocks) { expect_same_phases(laplacian<TypeParam>(700), true); }

TYPED_TEST(CgPhasesTest, SmallOneUnknown) {
  Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(1), false, 1e-3, 100);
  device.iterate();
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::converged));
  EXPECT_EQ(device.state().iteration, 1);
}

TYPED_TEST(CgPhasesTest, SmallNothingChangesAfterTheStop) {
  Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(20), true, 0.0, 3);
  for (int i = 0; i < 3; ++i) device.iterate();
  const auto state = device.state();
  EXPECT_EQ(state.stop, static_cast<int>(StopReason::max_iterations));
  EXPECT_EQ(state.iteration, 3);
  const auto x = device.x(), r = device.r(), p = device.p();
  for (int i = 0; i < 5; ++i) device.iterate();
  const auto later = device.state();
  EXPECT_EQ(std::memcmp(&state, &later, sizeof(state)), 0);
  EXPECT_TRUE(same_bits(device.x(), x));
  EXPECT_TRUE(same_bits(device.r(), r));
  EXPECT_TRUE(same_bits(device.p(), p));
}

TYPED_TEST(CgPhasesTest, SmallIndefiniteMatrixIsReported) {
  System<TypeParam> a = laplacian<TypeParam>(8);
  for (TypeParam& value : a.values) value = -value;
  Recurrence<TypeParam> device(Backend::cuda(), a, false, 0.0, 100);
  device.iterate();
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::indefinite_matrix));
}

TYPED_TEST(CgPhasesTest, TwoRunsGiveTheSameBits) {
  const auto a = laplacian<TypeParam>(300);
  Recurrence<TypeParam> first(Backend::cuda(), a, true, 0.0, 100), second(Backend::cuda(), a, true, 0.0, 100);
  for (int i = 0; i < 10; ++i) {
    first.iterate();
    second.iterate();
  }
  EXPECT_TRUE(same_bits(first.x(), second.x()));
  EXPECT_TRUE(same_bits(first.r(), second.r()));
  EXPECT_EQ(first.state().rr, second.state().rr);
}

TYPED_TEST(CgPhasesTest, SmallRecordedIterationsEqualDirectOnes) {
  const auto a = laplacian<TypeParam>(30);
  Recurrence<TypeParam> direct(Backend::cuda(), a, true, 0.0, 100), recorded(Backend::cuda(), a, true, 0.0, 100);
  const auto before = recorded.x();
  const auto batch = recorded.backend().impl().record(
      [&] {
        for (int i = 0; i < 4; ++i) recorded.iterate();
      },
      true);
  EXPECT_TRUE(same_bits(recorded.x(), before)) << "recording does not run the work";
  for (int i = 0; i < 12; ++i) direct.iterate();
  for (int i = 0; i < 3; ++i) batch->replay();
  EXPECT_EQ(recorded.state().iteration, 12);
  EXPECT_TRUE(same_bits(recorded.x(), direct.x()));
  EXPECT_TRUE(same_bits(recorded.r(), direct.r()));
}

template <class T>
class VectorTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(VectorTest, Scalars);

template <Scalar T>
void expect_vector_operations(std::size_t n) {
  SCOPED_TRACE(n);
  const Backend backend = Backend::cuda();
  auto& ops = detail::krylov_ops<T>(backend);
  const auto x = random_vector<T>(n, 51), u = random_vector<T>(n, 52);
  Array<T> device_x(backend, x);
  const Array<T> device_u(backend, u);
  Array<double> norm(backend, std::vector<double>{-1.0});
  ops.norm(static_cast<index_t>(n), device_x.data(), norm.data());
  double sum = 0.0;
  for (const T value : x) sum += std::norm(std::complex<double>(value));
  EXPECT_NEAR(norm.to_host()[0], std::sqrt(sum), 1e-12 * std::sqrt(sum));

  ops.add(static_cast<index_t>(n), device_u.data(), device_x.data());
  std::vector<T> expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = x[i] + u[i];
  EXPECT_TRUE(same_bits(device_x.to_host(), expected));
}

TYPED_TEST(VectorTest, SmallNormAndSum) {
  for (const std::size_t n : {0u, 1u, 31u, 32u, 255u, 256u, 257u, 5000u}) expect_vector_operations<TypeParam>(n);
}
TYPED_TEST(VectorTest, LongNormAndSum) { expect_vector_operations<TypeParam>(3000001); }

TYPED_TEST(VectorTest, SmallResidual) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  const auto a = convection_diffusion<T>(12);
  const auto n = static_cast<std::size_t>(a.rows);
  const auto b = random_vector<T>(n, 53), x = random_vector<T>(n, 54);
  const auto residual_on = [&](const Backend& where) {
    const DeviceSystem<T, std::int32_t> system(where, a);
    const Array<T> device_b(where, b), device_x(where, x);
    Array<T> r(where, n);
    auto& ops = detail::krylov_ops<T>(where);
    ops.residual(*ops.make_csr(system.view()), device_b.data(), device_x.data(), r.data());
    return r.to_host();
  };
  EXPECT_LE(relative_difference(residual_on(backend), residual_on(Backend::host())), 100 * epsilon<T>);
}

}  // namespace
}  // namespace blockjacobi::test
