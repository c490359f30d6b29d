#include "tests/kernels/gmres_cycles.hpp"

namespace blockjacobi::test {
namespace {

/// Cycles of GMRES with a coarse level in one launch, against their phases.
template <class T>
class GmresResidentCoarseTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(GmresResidentCoarseTest, Scalars);

constexpr CoarseMode modes[] = {CoarseMode::additive, CoarseMode::adef1, CoarseMode::adef2};

/// As of CG's.
template <Scalar T>
double tolerance(const System<T>& a, int steps) {
  return 3 * rounding(a, steps);
}

template <Scalar T>
void expect_resident_cycles(const System<T>& a, Way way, int restart, const TwoLevelOptions& level) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", m = " << restart
                                    << ", " << to_string(*level.mode));
  Cycles<T> phases(Backend::cuda(), a, way, restart, 1000, 0.0, level);
  Cycles<T> device(Backend::cuda(), a, way, restart, 1000, 0.0, level);
  std::optional<Cycles<T>> again;
  if (!is_under_tool()) again.emplace(Backend::cuda(), a, way, restart, 1000, 0.0, level);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  int cycles = 0;
  for (const int count : {1, 2}) {  // also in the launch after another
    if (count == 1 && is_under_tool()) continue;
    cycles += count;
    for (int i = 0; i < count; ++i) phases.cycle();
    device.cycles(count);
    expect_same(device, phases, tolerance(a, cycles * restart));
    if (!again) continue;
    again->cycles(count);
    EXPECT_TRUE(same_bits(device.x(), again->x()));
    EXPECT_TRUE(same_bits(device.first(), again->first()));
  }
}

TYPED_TEST(GmresResidentCoarseTest, MatchThePhases) {
  for (const CoarseMode mode : modes) {
    const int restart = is_under_tool() ? 2 : 5;
    expect_resident_cycles(convection_diffusion<TypeParam>(17), Way::uniform_blocks, restart, coarse(mode, 10));
    expect_resident_cycles(long_rows<TypeParam>(200), Way::mixed_blocks, is_under_tool() ? 2 : 3, coarse(mode, 20, 2));
    if (is_under_tool()) continue;
    expect_resident_cycles(convection_diffusion<TypeParam>(40), Way::mixed_blocks, 6, coarse(mode, 300));
    expect_resident_cycles(convection_diffusion<TypeParam>(40), Way::blocks_of_8, 6, coarse(mode, 120, 3));
  }
}

/// One that cuSOLVER inverts, of single precision where that is good enough.
TYPED_TEST(GmresResidentCoarseTest, MoreCoarseRowsThanABlockHas) {
  const auto a = convection_diffusion<TypeParam>(60);
  for (const CoarseMode mode : modes) {
    const auto level = coarse(mode, 900, 2);
    EXPECT_GT(Cycles<TypeParam>(Backend::cuda(), a, Way::blocks_of_8, 4, 1000, 0.0, level).coarse_order(),
              max_block_size);
    expect_resident_cycles(a, Way::blocks_of_8, 4, level);
  }
}

TYPED_TEST(GmresResidentCoarseTest, InLittleSharedMemory) {
  const auto a = long_rows<TypeParam>(200);
  const auto level = coarse(CoarseMode::adef1, 20, 2);
  constexpr int restart = 6;
  const int launches = is_under_tool() ? 1 : 2;
  Cycles<TypeParam> plenty(Backend::cuda(), a, Way::mixed_blocks, restart, 1000, 0.0, level);
  ASSERT_TRUE(plenty.resides() || !is_sm_90()) << "one launch for all cycles";
  if (!plenty.resides()) GTEST_SKIP() << "no cooperative launches";
  plenty.cycles(launches);
  for (const int held : {100, 3000, 6900, 7600}) {  // as for CG; then also a part of the basis
    SCOPED_TRACE(held);
    if (is_under_tool() && held != 3000 && held != 7600) continue;
    const int bytes = 8000 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t));
    Cycles<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks, restart, 1000, 0.0, level);
    for (int i = 0; i < launches; ++i) little.cycles_within(1, bytes);
    expect_same(little, plenty, tolerance(a, launches * restart));
  }
}

TYPED_TEST(GmresResidentCoarseTest, EndWithTheStop) {
  const auto a = convection_diffusion<TypeParam>(20);
  const auto level = coarse(CoarseMode::adef1, 30);
  for (const int limit : {7, 10}) {  // in the middle of the second cycle, and with its last column
    SCOPED_TRACE(limit);
    Cycles<TypeParam> phases(Backend::cuda(), a, Way::mixed_blocks, 5, limit, 0.0, level);
    Cycles<TypeParam> device(Backend::cuda(), a, Way::mixed_blocks, 5, limit, 0.0, level);
    ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all cycles";
    if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
    for (int i = 0; i < 2; ++i) phases.cycle();
    device.cycles(6);
    EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::max_iterations));
    EXPECT_EQ(device.state().iteration, limit);
    expect_same(device, phases, tolerance(a, limit));
    const auto x = device.x();
    device.cycles(3);
    EXPECT_TRUE(same_bits(device.x(), x));
  }
}

TYPED_TEST(GmresResidentCoarseTest, LargerCoarseLevelsGoByPhases) {
  const auto level = coarse(CoarseMode::additive, 3600, 4);
  const Cycles<TypeParam> a(Backend::cuda(), convection_diffusion<TypeParam>(120), Way::blocks_of_8, 4, 100, 0.0,
                            level);
  EXPECT_GT(a.coarse_order(), kernels::resident_coarse_order(sizeof(TypeParam)));
  EXPECT_FALSE(a.resides());
}

}  // namespace
}  // namespace blockjacobi::test
