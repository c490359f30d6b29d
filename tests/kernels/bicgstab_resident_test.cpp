#include "tests/kernels/bicgstab_recurrence.hpp"
#include "tests/kernels/recorded_kernels.hpp"

namespace blockjacobi::test {
namespace {

/// Iterations of BiCGSTAB in one launch, against their phases.
template <class T>
class BicgstabResidentTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(BicgstabResidentTest, Scalars);

template <Scalar T>
void expect_same(Bicgstab<T>& found, Bicgstab<T>& expected, double tolerance) {
  EXPECT_EQ(found.state().iteration, expected.state().iteration);
  EXPECT_EQ(found.state().history_size, expected.state().history_size);
  EXPECT_LE(relative_difference(found.x().to_host(), expected.x().to_host()), tolerance);
  EXPECT_LE(relative_difference(found.r().to_host(), expected.r().to_host()), tolerance);
  EXPECT_LE(relative_difference(found.p().to_host(), expected.p().to_host()), tolerance);
}

template <Scalar T>
void expect_resident_iterations(const System<T>& a, Way way) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way));
  Bicgstab<T> phases(Backend::host(), a, way), device(Backend::cuda(), a, way);
  std::optional<Bicgstab<T>> again;
  if (!is_under_tool()) again.emplace(Backend::cuda(), a, way);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  int iterations = 0;
  for (const int count : {1, 2}) {
    if (count == 1 && is_under_tool()) continue;
    iterations += count;
    for (int i = 0; i < count; ++i) phases.iterate();
    device.iterations(count);
    expect_same(device, phases, rounding(a, iterations));
    if (!again) continue;
    again->iterations(count);
    EXPECT_TRUE(same_bits(device.x().to_host(), again->x().to_host()));
    EXPECT_TRUE(same_bits(device.p().to_host(), again->p().to_host()));
  }
}

TYPED_TEST(BicgstabResidentTest, MatchThePhases) {
  expect_resident_iterations(convection_diffusion<TypeParam>(17), Way::uniform_blocks);
  expect_resident_iterations(long_rows<TypeParam>(200), Way::mixed_blocks);
  if (!is_under_tool()) expect_resident_iterations(convection_diffusion<TypeParam>(40), Way::mixed_blocks);
}

TYPED_TEST(BicgstabResidentTest, IsOneLaunch) {
  const Backend backend = Backend::cuda();
  Bicgstab<TypeParam> device(backend, convection_diffusion<TypeParam>(17), Way::mixed_blocks);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  const auto kernels = recorded_kernels(backend.stream(), [&] { device.iterations(3); });
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_NE(kernels[0].name.find("::bicgstab_resident_kernel<"), std::string::npos) << kernels[0].name;
}

/// Entries and elements of vectors stay where they are as far as they find no room.
TYPED_TEST(BicgstabResidentTest, InLittleSharedMemory) {
  const auto a = long_rows<TypeParam>(200);
  Bicgstab<TypeParam> plenty(Backend::cuda(), a, Way::mixed_blocks);
  ASSERT_TRUE(plenty.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!plenty.resides()) GTEST_SKIP() << "no cooperative launches";
  const int first = is_under_tool() ? 1 : 2;
  plenty.iterations(first + 1);
  for (const int held : {100, 3000, 6500}) {  // as for CG
    SCOPED_TRACE(held);
    if (is_under_tool() && held == 100) continue;
    Bicgstab<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks);
    little.iterations_within(first, 5500 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t)));
    little.iterations_within(1, 5500 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t)));
    expect_same(little, plenty, rounding(a, first + 1));
  }
}

TYPED_TEST(BicgstabResidentTest, EndWithTheStop) {
  const auto a = convection_diffusion<TypeParam>(20);
  Bicgstab<TypeParam> phases(Backend::cuda(), a, Way::mixed_blocks, 2),
      device(Backend::cuda(), a, Way::mixed_blocks, 2);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  for (int i = 0; i < 2; ++i) phases.iterate();
  device.iterations(10);
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::max_iterations));
  expect_same(device, phases, rounding(a, 2));
  const auto x = device.x().to_host();
  device.iterations(5);
  EXPECT_TRUE(same_bits(device.x().to_host(), x));
}

}  // namespace
}  // namespace blockjacobi::test
