#include "tests/kernels/gmres_cycles.hpp"

namespace blockjacobi::test {
namespace {

/// Cycles of GMRES in one launch, against their phases.
template <class T>
class GmresResidentTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(GmresResidentTest, Scalars);

template <Scalar T>
void expect_resident_cycles(const System<T>& a, Way way, int restart) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", m = " << restart);
  Cycles<T> phases(Backend::host(), a, way, restart), device(Backend::cuda(), a, way, restart);
  std::optional<Cycles<T>> again;
  if (!is_under_tool()) again.emplace(Backend::cuda(), a, way, restart);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  int cycles = 0;
  for (const int count : {1, 2}) {                // also in the launch after another
    if (count == 1 && is_under_tool()) continue;  // a cycle begins in the launch that another one ends in
    cycles += count;
    for (int i = 0; i < count; ++i) phases.cycle();
    device.cycles(count);
    expect_same(device, phases, rounding(a, cycles * restart));
    if (!again) continue;
    again->cycles(count);
    EXPECT_TRUE(same_bits(device.x(), again->x()));
    EXPECT_TRUE(same_bits(device.first(), again->first()));
  }
}

TYPED_TEST(GmresResidentTest, MatchThePhases) {
  expect_resident_cycles(convection_diffusion<TypeParam>(17), Way::uniform_blocks, is_under_tool() ? 3 : 5);
  expect_resident_cycles(long_rows<TypeParam>(200), Way::mixed_blocks, is_under_tool() ? 2 : 3);
  if (is_under_tool()) return;
  expect_resident_cycles(convection_diffusion<TypeParam>(40), Way::mixed_blocks, 9);
  expect_resident_cycles(convection_diffusion<TypeParam>(12), Way::blocks_of_8, 1);
}

TYPED_TEST(GmresResidentTest, MoreRowsThanThreads) {
  // under a tool some rows more than 132 thread blocks have threads
  if (is_under_tool()) return expect_resident_cycles(convection_diffusion<TypeParam>(265), Way::mixed_blocks, 2);
  expect_resident_cycles(convection_diffusion<TypeParam>(320), Way::mixed_blocks, 4);
}

/// Sums of more columns than thread blocks have warps, and than a warp has lanes; orthogonal, or the norms that the
/// recurrence has would not be those of b - A x.
TYPED_TEST(GmresResidentTest, LongCycles) {
  for (const int restart : {30, kernels::resident_restart}) {
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
  const int launches = is_under_tool() ? 1 : 2;
  Cycles<TypeParam> plenty(Backend::cuda(), a, Way::mixed_blocks, restart);
  ASSERT_TRUE(plenty.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!plenty.resides()) GTEST_SKIP() << "no cooperative launches";
  plenty.cycles(launches);
  for (const int held : {100, 3000, 6500, 7300}) {  // as for CG; then also a part of the basis
    SCOPED_TRACE(held);
    if (is_under_tool() && held != 3000 && held != 7300) continue;
    const int bytes = 5500 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t));
    Cycles<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks, restart);
    for (int i = 0; i < launches; ++i) little.cycles_within(1, bytes);
    expect_same(little, plenty, rounding(a, launches * restart));
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
  // What the norm of b - A x is known by, for an x of at most b over the dominance of A.
  const double right = std::sqrt(is_complex<T> ? 2.0 : 1.0), largest = right / row_sums(a).dominance;
  const double target = std::sqrt(a.rows) * rounding_of_product(a, largest, right);
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
  EXPECT_TRUE(Cycles<double>(Backend::cuda(), a, Way::mixed_blocks, kernels::resident_restart).resides() ||
              !is_sm_90());
  EXPECT_FALSE(Cycles<double>(Backend::cuda(), a, Way::mixed_blocks, kernels::resident_restart + 1).resides());
}

}  // namespace
}  // namespace blockjacobi::test
