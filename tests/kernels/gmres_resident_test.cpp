#include "kernels/krylov/launch.hpp"
#include "tests/kernels/cg_recurrence.hpp"

namespace blockjacobi::test {
namespace {

using detail::GmresState;

/// Cycles of GMRES in one launch, against their phases.
template <class T>
class GmresResidentTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(GmresResidentTest, Scalars);

/// What a solve by GMRES(m) has in the memory of a backend.
template <Scalar T>
class Cycles {
  using C = compute_t<T>;

 public:
  Cycles(const Backend& backend, const System<T>& a, Way way, int restart, int max_iterations = 1000,
         double target = 0.0)
      : backend_(backend),
        n_(a.rows),
        restart_(restart),
        system_(on<std::int32_t>(backend, a)),
        product_(ops().make_csr(system_.view())),
        blocks_(backend, system_.view(), partition<T>(n_, way)),
        b_(backend, random_vector<T>(size(), 42)),
        x_(backend, random_vector<T>(size(), 41)),
        u_(backend, size()),
        z_(backend, size()),
        // Columns that a step has not yet filled must never count.
        basis_(backend, std::vector<T>(size() * (m() + 1), std::numeric_limits<real_t<T>>::quiet_NaN())),
        small_(backend, (m() + 1) * m() + 3 * (m() + 1) + m()),
        cosines_(backend, m()),
        messages_(backend, ops().gmres_message_bytes(*product_, &blocks_.preconditioner(), restart)),
        state_(backend, std::vector<GmresState>{detail::gmres_initial_state(target, max_iterations)}) {
    messages_.zero();
    begin();
  }

  /// By the phases.
  void cycle() {
    for (int j = 0; j < restart_; ++j) {
      blocks_.preconditioner().apply(column(j), z_.data());
      product_->apply(z_.data(), column(j + 1));
      ops().gmres_orthogonalize(vectors(), small(), j, state_.data());
    }
    ops().gmres_combine(vectors(), small(), state_.data());
    blocks_.preconditioner().apply(u_.data(), z_.data());
    ops().gmres_check(n_, z_.data(), state_.data());
    ops().add(n_, z_.data(), x_.data(), &state_.data()->columns);
    begin();
  }
  bool resides() const { return messages_.size() > 0; }
  /// Several cycles in one launch.
  void cycles(int count) {
    ops().gmres_cycles(*product_, &blocks_.preconditioner(), basis_.data(), restart_, b_.data(), x_.data(),
                       messages_.data(), count, state_.data());
  }
  /// The same in thread blocks with so much shared memory.
  void cycles_within(int count, int shared_bytes) {
    const auto a = system_.view();
    const auto inverse = *blocks_.preconditioner().full_blocks();
    kernels::gmres_resident<C>(
        {a.rows, a.cols, a.nnz, a.row_offsets, a.columns, compute_cast(a.values), a.base, a.space},
        {compute_cast(inverse.data), inverse.slots, inverse.groups, inverse.blocks, inverse.rows, inverse.space},
        compute_cast(basis_.data()), restart_, compute_cast(b_.data()), compute_cast(x_.data()), messages_.data(),
        count, state_.data(), backend_.stream(), shared_bytes);
    backend_.synchronize();
  }

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
    ops().residual(*product_, b_.data(), x_.data(), u_.data());
    ops().norm(n_, u_.data(), norm.data());
    return norm.to_host()[0];
  }

 private:
  void begin() {
    ops().residual(*product_, b_.data(), x_.data(), column(0));
    ops().gmres_begin(vectors(), small(), state_.data());
  }
  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  std::size_t m() const { return static_cast<std::size_t>(restart_); }
  T* column(int j) { return basis_.data() + static_cast<std::size_t>(j) * size(); }
  detail::GmresVectors<T> vectors() { return {n_, basis_.data(), u_.data(), nullptr}; }
  detail::GmresSmall<C> small() {
    C* const h = compute_cast(small_.data());
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
  BlockJacobi<T> blocks_;
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

template <Scalar T>
void expect_resident_cycles(const System<T>& a, Way way, int restart) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", m = " << restart);
  Cycles<T> phases(Backend::host(), a, way, restart), device(Backend::cuda(), a, way, restart);
  Cycles<T> again(Backend::cuda(), a, way, restart);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  int cycles = 0;
  for (const int count : {1, 2}) {  // also in the launch after another
    cycles += count;
    for (int i = 0; i < count; ++i) phases.cycle();
    device.cycles(count);
    again.cycles(count);
    expect_same(device, phases, rounding(a, cycles * restart));
    EXPECT_TRUE(same_bits(device.x(), again.x()));
    EXPECT_TRUE(same_bits(device.first(), again.first()));
  }
}

TYPED_TEST(GmresResidentTest, MatchThePhases) {
  expect_resident_cycles(convection_diffusion<TypeParam>(17), Way::uniform_blocks, 5);
  expect_resident_cycles(convection_diffusion<TypeParam>(40), Way::mixed_blocks, 9);
  expect_resident_cycles(long_rows<TypeParam>(200), Way::mixed_blocks, 3);
  expect_resident_cycles(convection_diffusion<TypeParam>(12), Way::blocks_of_8, 1);
}

TYPED_TEST(GmresResidentTest, MoreRowsThanThreads) {
  expect_resident_cycles(convection_diffusion<TypeParam>(320), Way::mixed_blocks, 4);
}

/// Sums of more columns than thread blocks have warps, and than a warp has lanes; orthogonal, or the norms that the
/// recurrence has would not be those of b - A x.
TYPED_TEST(GmresResidentTest, LongCycles) {
  for (const int restart : {30, kernels::gmres_longest_resident}) {
    SCOPED_TRACE(restart);
    const auto a = convection_diffusion<TypeParam>(100);
    Cycles<TypeParam> device(Backend::cuda(), a, Way::blocks_of_8, restart);
    ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
    if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
    device.forget_history();
    device.cycles(1);
    const GmresState state = device.state();
    EXPECT_EQ(state.iteration, restart);
    ASSERT_EQ(state.history_size, restart);
    for (int i = 1; i < restart; ++i) EXPECT_LE(state.history[i], state.history[i - 1]);
    const double tolerance = rounding(a, restart) * state.history[0];
    EXPECT_NEAR(state.history[restart - 1], state.beta, tolerance);
    EXPECT_NEAR(device.residual(), state.beta, tolerance);
  }
}

/// Entries, elements of vectors and columns of the basis stay where they are as far as they find no room.
TYPED_TEST(GmresResidentTest, InLittleSharedMemory) {
  const auto a = long_rows<TypeParam>(200);
  constexpr int restart = 6;
  Cycles<TypeParam> plenty(Backend::cuda(), a, Way::mixed_blocks, restart);
  ASSERT_TRUE(plenty.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!plenty.resides()) GTEST_SKIP() << "no cooperative launches";
  plenty.cycles(2);
  for (const int held : {100, 3000, 6500, 7300}) {  // as for CG; then also a part of the basis
    SCOPED_TRACE(held);
    const int bytes = 5500 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t));
    Cycles<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks, restart);
    little.cycles_within(1, bytes);
    little.cycles_within(1, bytes);
    expect_same(little, plenty, rounding(a, 2 * restart));
  }
}

TYPED_TEST(GmresResidentTest, EndWithTheStop) {
  const auto a = convection_diffusion<TypeParam>(20);
  // In the middle of the second cycle, and with its last column.
  for (const int limit : {7, 10}) {
    SCOPED_TRACE(limit);
    Cycles<TypeParam> phases(Backend::host(), a, Way::mixed_blocks, 5, limit);
    Cycles<TypeParam> device(Backend::cuda(), a, Way::mixed_blocks, 5, limit);
    ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
    if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
    for (int i = 0; i < 2; ++i) phases.cycle();
    device.cycles(6);
    EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::max_iterations));
    EXPECT_EQ(device.state().iteration, limit);
    expect_same(device, phases, rounding(a, limit));
    const auto x = device.x();
    device.cycles(3);
    EXPECT_TRUE(same_bits(device.x(), x));
  }
}

/// A M^-1 = I but for rounding: the first step leaves nothing that is not rounding, so that the norm of it is not known
/// from the dots; the cycle claims the solution, and the next begins or ends with what b - A x says.
TYPED_TEST(GmresResidentTest, ExactSolutionEndsTheCycle) {
  using T = TypeParam;
  System<T> a{96, {0}, {}, {}};
  const auto values = random_vector<T>(96 * 8, 9);
  for (index_t row = 0; row < a.rows; ++row) {  // nothing but blocks of 8
    for (index_t k = 0; k < 8; ++k) {
      const index_t column = row / 8 * 8 + k;
      a.columns.push_back(column);
      a.values.push_back(column == row ? T(real_t<T>(12)) : values[static_cast<std::size_t>(row * 8 + k)]);
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  const double target = 1e4 * epsilon<T>;
  Cycles<T> device(Backend::cuda(), a, Way::blocks_of_8, 6, 1000, target);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  device.cycles(3);
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::converged));
  EXPECT_LE(device.state().iteration, 2);
  EXPECT_LE(device.residual(), target);
}

/// A = 0 beside the blocks that M has of another matrix: there is nothing to go on with after the first product.
TYPED_TEST(GmresResidentTest, BreakdownKeepsTheSolution) {
  using T = TypeParam;
  Cycles<T> device(Backend::cuda(), convection_diffusion<T>(16), Way::blocks_of_8, 6);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  const auto x = device.x();
  device.clear_matrix();
  device.cycles(3);
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::breakdown));
  EXPECT_EQ(device.state().iteration, 1);
  EXPECT_TRUE(same_bits(device.x(), x));
}

TYPED_TEST(GmresResidentTest, NanEndsTheSolve) {
  using T = TypeParam;
  Cycles<T> device(Backend::cuda(), convection_diffusion<T>(16), Way::blocks_of_8, 6);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  device.spoil_matrix();
  device.cycles(3);
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::nan_or_inf));
  EXPECT_EQ(device.state().iteration, 1);
  for (const T value : device.x()) ASSERT_TRUE(std::isfinite(std::abs(value)));
}

TEST_F(DeviceTest, GmresResidesUpToTheRestartThatSharedMemoryHasRoomFor) {
  const auto a = convection_diffusion<double>(17);
  EXPECT_TRUE(Cycles<double>(Backend::cuda(), a, Way::mixed_blocks, kernels::gmres_longest_resident).resides() ||
              !is_sm_90());
  EXPECT_FALSE(Cycles<double>(Backend::cuda(), a, Way::mixed_blocks, kernels::gmres_longest_resident + 1).resides());
}

}  // namespace
}  // namespace blockjacobi::test
