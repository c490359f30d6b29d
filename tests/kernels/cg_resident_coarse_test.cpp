#include "tests/kernels/cg_recurrence.hpp"

namespace blockjacobi::test {
namespace {

/// Iterations of CG with a coarse level in one launch, against their phases.
template <class T>
class CgResidentCoarseTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CgResidentCoarseTest, Scalars);

/// `inverse`: what E^-1 and its adjoint may differ by, relative to the largest element.
template <Scalar T>
void expect_resident_iterations(const System<T>& a, Way way, const TwoLevelOptions& level, double inverse = 0) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", "
                                    << to_string(*level.mode) << ", " << level.relaxed << " relaxed vectors");
  Recurrence<T> phases(Backend::cuda(), a, way, 0.0, 100, {}, level);
  Recurrence<T> device(Backend::cuda(), a, way, 0.0, 100, {}, level);
  std::optional<Recurrence<T>> again;
  if (!is_under_tool()) again.emplace(Backend::cuda(), a, way, 0.0, 100, BlockJacobiOptions{}, level);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  int iterations = 1;  // the residual and z of the beginning count as one
  for (const int count : {1, 2, 3}) {
    if (count != 2 && is_under_tool()) continue;
    iterations += count;
    // The coarse correction is a product with matrices of the size of A, E^-1 and A again.
    const double tolerance = 3 * rounding_of_iterations(a, iterations, 32) + iterations * inverse;
    for (int i = 0; i < count; ++i) phases.iterate();
    device.iterations(count);
    EXPECT_EQ(device.state().iteration, phases.state().iteration);
    EXPECT_EQ(device.state().history_size, phases.state().history_size);
    EXPECT_EQ(device.state().stop, 0);
    expect_close("rr", device.state().rr, phases.state().rr, tolerance);
    EXPECT_LE(relative_difference(device.x(), phases.x()), tolerance);
    EXPECT_LE(relative_difference(device.r(), phases.r()), tolerance);
    EXPECT_LE(relative_difference(device.p(), phases.p()), tolerance);
    if (!again) continue;
    again->iterations(count);
    EXPECT_TRUE(same_bits(device.x(), again->x()));
    EXPECT_TRUE(same_bits(device.p(), again->p()));
  }
}

TYPED_TEST(CgResidentCoarseTest, MatchThePhases) {
  for (const CoarseMode mode : {CoarseMode::additive, CoarseMode::adef2}) {
    expect_resident_iterations(laplacian<TypeParam>(17), Way::uniform_blocks, coarse(mode, 10));
    expect_resident_iterations(long_rows<TypeParam>(200), Way::mixed_blocks, coarse(mode, 20, 2));
    if (is_under_tool()) continue;
    expect_resident_iterations(laplacian<TypeParam>(40), Way::mixed_blocks, coarse(mode, 300));
    expect_resident_iterations(laplacian<TypeParam>(40), Way::blocks_of_8, coarse(mode, 120, 3));
  }
}

/// One that cuSOLVER inverts; the phases read rows of what these read as columns.
TYPED_TEST(CgResidentCoarseTest, MoreCoarseRowsThanABlockHas) {
  for (const CoarseMode mode : {CoarseMode::additive, CoarseMode::adef2}) {
    const auto level = coarse(mode, 900, 2);
    Recurrence<TypeParam> a(Backend::cuda(), laplacian<TypeParam>(60), Way::blocks_of_8, 0.0, 100, {}, level);
    EXPECT_GT(a.coarse_order(), max_block_size);
    expect_resident_iterations(laplacian<TypeParam>(60), Way::blocks_of_8, level, epsilon<float>);
  }
}

/// Entries, inverses of blocks and of E stay in L2 as far as they find no room.
TYPED_TEST(CgResidentCoarseTest, InLittleSharedMemory) {
  const auto a = long_rows<TypeParam>(200);
  const auto level = coarse(CoarseMode::adef2, 20, 2);
  Recurrence<TypeParam> plenty(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100, {}, level);
  ASSERT_TRUE(plenty.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!plenty.resides()) GTEST_SKIP() << "no cooperative launches";
  const int first = is_under_tool() ? 2 : 4, then = is_under_tool() ? 0 : 2;
  plenty.iterations(first);
  if (then > 0) plenty.iterations(then);
  const double tolerance = 3 * rounding_of_iterations(a, 1 + first + then, 32);
  constexpr int element = sizeof(TypeParam) + sizeof(index_t);
  // Of the matrix next to nothing fits, a part, all of it with a part of the coarse entries, and nearly all.
  for (const int held : {100 * element, 3000 * element, 6900 * element, 7400 * element}) {
    SCOPED_TRACE(held);
    if (is_under_tool() && held != 3000 * element && held != 6900 * element) continue;
    Recurrence<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100, {}, level);
    const int bytes = 6000 + held;
    EXPECT_EQ(little.iterations_within(first, bytes), 1 + 2u * static_cast<unsigned>(first))
        << "two waits an iteration";
    if (then > 0) little.iterations_within(then, bytes);
    EXPECT_EQ(little.state().iteration, first + then);
    expect_close("rr", little.state().rr, plenty.state().rr, tolerance);
    EXPECT_LE(relative_difference(little.x(), plenty.x()), tolerance);
    EXPECT_LE(relative_difference(little.p(), plenty.p()), tolerance);
  }
}

TYPED_TEST(CgResidentCoarseTest, EndWithTheStop) {
  const auto level = coarse(CoarseMode::adef2, 30);
  Recurrence<TypeParam> phases(Backend::cuda(), laplacian<TypeParam>(20), Way::mixed_blocks, 0.0, 3, {}, level);
  Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(20), Way::mixed_blocks, 0.0, 3, {}, level);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  for (int i = 0; i < 3; ++i) phases.iterate();
  device.iterations(10);
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::max_iterations));
  EXPECT_EQ(device.state().iteration, 3);
  EXPECT_LE(relative_difference(device.x(), phases.x()), 3 * rounding_of_iterations(laplacian<TypeParam>(20), 4, 32));
  const auto x = device.x(), p = device.p();
  device.iterations(5);
  EXPECT_TRUE(same_bits(device.x(), x));
  EXPECT_TRUE(same_bits(device.p(), p));
}

TYPED_TEST(CgResidentCoarseTest, LargerCoarseLevelsGoByPhases) {
  const auto level = coarse(CoarseMode::additive, 3600, 4);
  Recurrence<TypeParam> a(Backend::cuda(), laplacian<TypeParam>(120), Way::blocks_of_8, 0.0, 100, {}, level);
  EXPECT_GT(a.coarse_order(), kernels::resident_coarse_order(sizeof(TypeParam)));
  EXPECT_FALSE(a.resides());
}

}  // namespace
}  // namespace blockjacobi::test
