#include "kernels/krylov/policy.hpp"
#include "tests/kernels/systems.hpp"
#include "tests/support/backends.hpp"

namespace blockjacobi::test {
namespace {

using detail::compute_t;
using detail::GmresState;

template <class T>
class GmresPhasesTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(GmresPhasesTest, Scalars);

/// One cycle of GMRES(m) without a preconditioner on one backend.
template <Scalar T>
class Cycle {
  using C = compute_t<T>;

 public:
  Cycle(const Backend& backend, const System<T>& a, int restart, double target = 0.0, int max_iterations = 1000)
      : backend_(backend),
        n_(a.rows),
        restart_(restart),
        system_(on<std::int32_t>(backend, a)),
        product_(ops().make_csr(system_.view())),
        b_(backend, random_vector<T>(size(), 61)),
        x_(backend, random_vector<T>(size(), 62)),
        // Columns that a step has not yet filled must never count.
        basis_(backend, std::vector<T>(size() * (m() + 1), std::numeric_limits<real_t<T>>::quiet_NaN())),
        u_(backend, size()),
        h_(backend, (m() + 1) * m()),
        h2_(backend, m() + 1),
        cs_(backend, m()),
        sn_(backend, m()),
        g_(backend, m() + 1),
        y_(backend, m()),
        state_(backend, std::vector<GmresState>{detail::gmres_initial_state(target, max_iterations)}) {
    h_.zero();
  }

  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  C* column(int j) { return data_of(basis_) + static_cast<std::size_t>(j) * size(); }

  void begin() {
    ops().residual(*product_, data_of(b_), data_of(x_), column(0));
    ops().gmres_begin(vectors(), small(), state_.data());
  }
  void step(int j) {
    product_->apply(column(j), column(j + 1));
    ops().gmres_orthogonalize(vectors(), small(), j, state_.data());
  }
  /// The state keeps history_capacity norms until the host takes them.
  void forget_history() {
    const int empty = 0;
    backend_.impl().copy_from_host(&state_.data()->history_size, &empty, sizeof(empty));
  }
  void combine() { ops().gmres_combine(vectors(), small(), state_.data()); }

  const Backend& backend() const { return backend_; }
  GmresState state() const { return state_.to_host()[0]; }
  std::vector<T> u() const { return u_.to_host(); }
  std::vector<T> basis(int columns) const {
    std::vector<T> values = basis_.to_host();
    values.resize(size() * static_cast<std::size_t>(columns));
    return values;
  }
  /// Columns 0 .. columns - 1 of R, zeros elsewhere.
  std::vector<T> triangle(int columns) const {
    const auto h = h_.to_host();
    std::vector<T> r(h.size());
    for (std::size_t k = 0; k < static_cast<std::size_t>(columns); ++k)
      for (std::size_t i = 0; i <= k; ++i) r[i + k * (m() + 1)] = h[i + k * (m() + 1)];
    return r;
  }
  /// ||b - A (x + u)||, which the recurrence estimates.
  double corrected_residual() {
    Array<T> x(backend_, x_.to_host()), r(backend_, size());
    Array<double> norm(backend_, 1);
    ops().add(n_, data_of(u_), data_of(x), nullptr);
    ops().residual(*product_, data_of(b_), data_of(x), data_of(r));
    ops().norm(n_, data_of(r), norm.data());
    return norm.to_host()[0];
  }

 private:
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  std::size_t m() const { return static_cast<std::size_t>(restart_); }
  detail::GmresVectors<T> vectors() { return {n_, data_of(basis_), data_of(u_), nullptr}; }
  detail::GmresSmall<C> small() {
    return {data_of(h_), data_of(h2_), cs_.data(), data_of(sn_), data_of(g_), data_of(y_), restart_};
  }

  Backend backend_;
  index_t n_;
  int restart_;
  CsrArrays<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
  Array<T> b_, x_, basis_, u_, h_, h2_;
  Array<double> cs_;
  Array<T> sn_, g_, y_;
  Array<GmresState> state_;
};

/// Largest |v_k^H v_last| over k < last, and ||v_last|^2 - 1|, added up without rounding that counts.
template <Scalar T>
double orthogonality_error(const std::vector<T>& basis, std::size_t n) {
  const std::size_t last = basis.size() / n - 1;
  using Wide = std::complex<long double>;
  long double error = 0;
  for (std::size_t k = 0; k <= last; ++k) {
    Wide dot = k == last ? -1 : 0;
    for (std::size_t i = 0; i < n; ++i) dot += std::conj(Wide(basis[i + k * n])) * Wide(basis[i + last * n]);
    if (!(std::abs(dot) <= error)) error = std::abs(dot);
  }
  return static_cast<double>(error);
}

/// What it may be behind two passes over `columns` of them. The second leaves what rounding puts there: of its dots, of
/// at most 30 additions one after the other, of a subtraction for each column, each half an eps, and of the
/// normalization.
template <Scalar T>
double orthogonality_bound(int columns) {
  return complex_rounding<T> * (30 + 0.5 * columns + 3) * epsilon<T>;
}

template <Scalar T>
void expect_same_cycle(const System<T>& a, int restart, int steps) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", restart " << restart);
  Cycle<T> host(Backend::host(), a, restart), device(Backend::cuda(), a, restart);
  const double tolerance = rounding_of_iterations(a, steps + 1);
  host.begin();
  device.begin();
  EXPECT_NEAR(device.state().beta, host.state().beta, tolerance * host.state().beta);
  for (int j = 0; j < steps; ++j) {
    host.step(j);
    device.step(j);
  }
  const GmresState found = device.state(), expected = host.state();
  EXPECT_EQ(found.columns, steps);
  EXPECT_EQ(found.iteration, steps);
  EXPECT_EQ(found.cycle_stop, 0);
  EXPECT_EQ(found.history_size, expected.history_size);
  EXPECT_NEAR(found.residual, expected.residual, tolerance * expected.beta);
  // Rounding separates the bases of two Arnoldi processes as they go on, not what they are good for.
  const int alike = std::min(steps, 5);
  EXPECT_LE(relative_difference(device.basis(alike + 1), host.basis(alike + 1)), tolerance);
  EXPECT_LE(relative_difference(device.triangle(alike), host.triangle(alike)), tolerance);
  EXPECT_LE(orthogonality_error(device.basis(steps + 1), static_cast<std::size_t>(a.rows)),
            orthogonality_bound<T>(steps));
  host.combine();
  device.combine();
  EXPECT_LE(relative_difference(device.u(), host.u()), tolerance);
  EXPECT_NEAR(device.corrected_residual(), found.residual, tolerance * found.beta);
}

TYPED_TEST(GmresPhasesTest, MatchTheHost) {
  if (is_under_tool()) {  // the kernels of every number of columns, with more thread blocks than one
    const int steps = kernels::most_tall_columns(kernels::scalar_of<compute_t<TypeParam>>) + 1;
    return expect_same_cycle(convection_diffusion<TypeParam>(31), steps, steps);
  }
  expect_same_cycle(convection_diffusion<TypeParam>(16), 12, 12);
  expect_same_cycle(convection_diffusion<TypeParam>(23), 20, 9);
  expect_same_cycle(laplacian<TypeParam>(10), 5, 1);
  expect_same_cycle(convection_diffusion<TypeParam>(31), 40, 37);
}

TYPED_TEST(GmresPhasesTest, MatchTheHostOnManyThreadBlocks) {
  expect_same_cycle(convection_diffusion<TypeParam>(700), 18, 18);
}

/// More columns than one launch projects on (see basis_policy), so the basis stays orthogonal only if all count.
TEST_F(DeviceTest, GmresBasisOfManyColumnsStaysOrthogonal) {
  const int steps = 300;
  const auto a = convection_diffusion<double>(40);
  Cycle<double> device(Backend::cuda(), a, steps);
  device.begin();
  for (int j = 0; j < steps; ++j) {
    if (j % 32 == 0) device.forget_history();
    device.step(j);
  }
  const int columns = device.state().columns;
  ASSERT_GT(columns, 256);
  EXPECT_LE(orthogonality_error(device.basis(columns), static_cast<std::size_t>(a.rows)),
            orthogonality_bound<double>(columns));
}

TYPED_TEST(GmresPhasesTest, NothingCountsAfterTheCycleStop) {
  Cycle<TypeParam> device(Backend::cuda(), convection_diffusion<TypeParam>(14), 10, 0.0, 4);
  device.begin();
  for (int j = 0; j < 4; ++j) device.step(j);
  const GmresState state = device.state();
  EXPECT_NE(state.cycle_stop, 0);
  EXPECT_EQ(state.columns, 4);
  device.combine();
  const auto u = device.u();
  for (int j = 4; j < 10; ++j) device.step(j);
  const GmresState later = device.state();
  EXPECT_EQ(std::memcmp(&state, &later, sizeof(state)), 0);
  device.combine();
  EXPECT_TRUE(same_bits(device.u(), u));
  for (const auto value : u) ASSERT_TRUE(std::isfinite(std::abs(value)));
}

TYPED_TEST(GmresPhasesTest, ExactSolutionEndsTheCycle) {
  // A = I: the first step finds the solution and leaves nothing to normalize.
  System<TypeParam> identity{6, {0, 1, 2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 5}, std::vector<TypeParam>(6, TypeParam(1))};
  Cycle<TypeParam> device(Backend::cuda(), identity, 4, 1e-4);
  device.begin();
  for (int j = 0; j < 4; ++j) device.step(j);
  EXPECT_EQ(device.state().columns, 1);
  EXPECT_EQ(device.state().claimed, 1);
  // Norm, normalization, coefficient, rotation, solution, u and residual: each is off by 3 eps of beta at most.
  const double beta = device.state().beta;
  device.combine();
  EXPECT_LE(device.corrected_residual(), complex_rounding<TypeParam> * 7 * 3 * epsilon<TypeParam> * beta);
}

TYPED_TEST(GmresPhasesTest, TwoRunsGiveTheSameBits) {
  const auto a = convection_diffusion<TypeParam>(60);
  Cycle<TypeParam> first(Backend::cuda(), a, 11), second(Backend::cuda(), a, 11);
  for (auto* cycle : {&first, &second}) {
    cycle->begin();
    for (int j = 0; j < 11; ++j) cycle->step(j);
    cycle->combine();
  }
  EXPECT_TRUE(same_bits(first.basis(12), second.basis(12)));
  EXPECT_TRUE(same_bits(first.u(), second.u()));
}

TYPED_TEST(GmresPhasesTest, RecordedCycleEqualsTheDirectOne) {
  const auto a = convection_diffusion<TypeParam>(25);
  Cycle<TypeParam> direct(Backend::cuda(), a, 9), recorded(Backend::cuda(), a, 9);
  const auto run = [](Cycle<TypeParam>& cycle) {
    cycle.begin();
    for (int j = 0; j < 9; ++j) cycle.step(j);
    cycle.combine();
  };
  const auto recording = recorded.backend().impl().record([&] { run(recorded); }, true);
  EXPECT_EQ(recorded.state().columns, 0) << "recording does not run the work";
  recording->replay();
  run(direct);
  EXPECT_TRUE(same_bits(recorded.u(), direct.u()));
  EXPECT_EQ(recorded.state().residual, direct.state().residual);
}

}  // namespace
}  // namespace blockjacobi::test
