#include "tests/kernels/cg_recurrence.hpp"

namespace blockjacobi::test {
namespace {

/// The phases of an iteration of CG, against those of the host.
template <class T>
class CgPhasesTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CgPhasesTest, Scalars);

template <Scalar T>
void expect_same_phases(const System<T>& a, Way way) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way));
  Recurrence<T> host(Backend::host(), a, way, 0.0, 100);
  Recurrence<T> device(Backend::cuda(), a, way, 0.0, 100);
  for (int step = 0; step < (is_under_tool() ? 1 : 4); ++step) {
    SCOPED_TRACE(step);
    // the residual and z of the beginning count as an iteration
    const double tolerance = rounding_of_iterations(a, step + 2, way == Way::plain || way == Way::separate ? 0 : 32);
    ASSERT_LE(relative_difference(device.p(), host.p()), tolerance);
    host.product();
    device.product();
    ASSERT_LE(relative_difference(device.q(), host.q()), tolerance);
    expect_close("pq", device.state().pq, host.state().pq, tolerance);
    expect_close("alpha", device.state().alpha, host.state().alpha, tolerance);
    host.update();
    device.update();
    ASSERT_LE(relative_difference(device.r(), host.r()), tolerance);
    if (way != Way::plain) {
      ASSERT_LE(relative_difference(device.z(), host.z()), tolerance);
    }
    expect_close("rr", device.state().rr, host.state().rr, tolerance);
    expect_close("rho", device.state().rho, host.state().rho, tolerance);
    expect_close("beta", device.state().beta, host.state().beta, tolerance);
    host.direction();
    device.direction();
    ASSERT_LE(relative_difference(device.x(), host.x()), tolerance);
    ASSERT_EQ(device.state().iteration, step + 1);
    ASSERT_EQ(device.state().stop, 0);
    ASSERT_EQ(device.state().history_size, host.state().history_size);
  }
}

TYPED_TEST(CgPhasesTest, MatchTheHost) {
  for (const index_t m : grids())
    for (const Way way : {Way::plain, Way::separate, Way::uniform_blocks, Way::mixed_blocks}) {
      if (way == Way::uniform_blocks && is_under_tool()) continue;  // the kernels of mixed_blocks
      expect_same_phases(laplacian<TypeParam>(m), way);
    }
}

TYPED_TEST(CgPhasesTest, MatchTheHostOnRowsOfAnyLength) {
  for (const index_t length : row_lengths) expect_same_phases(long_rows<TypeParam>(length), way_of_long_rows());
}

TYPED_TEST(CgPhasesTest, MatchTheHostOnManyThreadBlocks) {
  for (const Way way : {Way::separate, Way::uniform_blocks, Way::mixed_blocks}) {
    if (way == Way::uniform_blocks && is_under_tool()) continue;
    expect_same_phases(laplacian<TypeParam>(700), way);
  }
}

TYPED_TEST(CgPhasesTest, OneUnknown) {
  Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(1), Way::plain, 1e-3, 100);
  device.iterate();
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::converged));
  EXPECT_EQ(device.state().iteration, 1);
}

TYPED_TEST(CgPhasesTest, NothingChangesAfterTheStop) {
  for (const Way way : {Way::plain, Way::separate, Way::mixed_blocks}) {
    SCOPED_TRACE(static_cast<int>(way));
    Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(20), way, 0.0, 3);
    for (int i = 0; i < 3; ++i) device.iterate();
    auto state = device.state();
    EXPECT_EQ(state.stop, static_cast<int>(StopReason::max_iterations));
    EXPECT_EQ(state.iteration, 3);
    const auto x = device.x(), r = device.r(), p = device.p();
    for (int i = 0; i < 5; ++i) device.iterate();
    const auto later = device.state();
    state.alpha = {};  // x has taken its last step
    EXPECT_EQ(std::memcmp(&state, &later, sizeof(state)), 0);
    EXPECT_TRUE(same_bits(device.x(), x));
    EXPECT_TRUE(same_bits(device.r(), r));
    EXPECT_TRUE(same_bits(device.p(), p));
  }
}

TYPED_TEST(CgPhasesTest, IndefiniteMatrixIsReported) {
  System<TypeParam> a = laplacian<TypeParam>(8);
  for (TypeParam& value : a.values) value = -value;
  Recurrence<TypeParam> device(Backend::cuda(), a, Way::plain, 0.0, 100);
  device.iterate();
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::indefinite_matrix));
}

TYPED_TEST(CgPhasesTest, TwoRunsGiveTheSameBits) {
  const auto a = laplacian<TypeParam>(300);
  Recurrence<TypeParam> first(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100);
  Recurrence<TypeParam> second(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100);
  for (int i = 0; i < 10; ++i) {
    first.iterate();
    second.iterate();
  }
  EXPECT_TRUE(same_bits(first.x(), second.x()));
  EXPECT_TRUE(same_bits(first.r(), second.r()));
  EXPECT_EQ(first.state().rr, second.state().rr);
}

TYPED_TEST(CgPhasesTest, RecordedIterationsEqualDirectOnes) {
  const auto a = laplacian<TypeParam>(30);
  Recurrence<TypeParam> direct(Backend::cuda(), a, Way::uniform_blocks, 0.0, 100);
  Recurrence<TypeParam> recorded(Backend::cuda(), a, Way::uniform_blocks, 0.0, 100);
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

}  // namespace
}  // namespace blockjacobi::test
