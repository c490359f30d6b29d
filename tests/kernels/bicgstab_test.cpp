#include "tests/kernels/bicgstab_recurrence.hpp"
#include "tests/kernels/recorded_kernels.hpp"

namespace blockjacobi::test {
namespace {

/// The phases of an iteration of BiCGSTAB, against those of the host.
template <class T>
class BicgstabPhasesTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(BicgstabPhasesTest, Scalars);

template <Scalar T>
double norm(Array<T>& vector) {
  double sum = 0.0;
  for (const T& element : vector.to_host()) sum += std::norm(std::complex<double>(element));
  return std::sqrt(sum);
}

/// A dot, or a quotient by one, of vectors that may be close to orthogonal: as good as their norms let it be.
template <class C>
void expect_close_dot(const char* name, C a, C b, double norms, double tolerance) {
  EXPECT_LE(std::abs(value(a) - value(b)), tolerance * norms) << name;
}

template <Scalar T>
void expect_same_phases(const System<T>& a, Way way, bool hidden = false) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way)
                                    << (hidden ? ", a product alone" : ""));
  Bicgstab<T> host(Backend::host(), a, way), device(Backend::cuda(), a, way);
  if (hidden) device.hide_matrix();
  const double shadow = norm(host.shadow());
  for (int step = 0; step < (is_under_tool() ? 1 : 3); ++step) {
    SCOPED_TRACE(step);
    const double tolerance = rounding(a, step + 1, way == Way::plain || way == Way::separate ? 0 : 32);
    const auto expect_same = [tolerance](Array<T>& found, Array<T>& expected, const char* name) {
      EXPECT_LE(relative_difference(found.to_host(), expected.to_host()), tolerance) << name;
    };
    host.first();
    device.first();
    expect_same(device.p(), host.p(), "p");
    expect_same(device.y(), host.y(), "y");
    expect_same(device.v(), host.v(), "v");
    expect_close_dot("rv", device.state().rv, host.state().rv, shadow * norm(host.v()), tolerance);
    host.second();
    device.second();
    expect_same(device.r(), host.r(), "s");
    expect_same(device.z(), host.z(), "z");
    expect_same(device.t(), host.t(), "t");
    const double s = norm(host.r()), t = norm(host.t());
    expect_close_dot("ts", device.state().ts, host.state().ts, t * s, tolerance);
    expect_close("tt", device.state().tt, host.state().tt, tolerance);
    expect_close("ss", device.state().ss, host.state().ss, tolerance);
    expect_close_dot("omega", device.state().omega, host.state().omega, s / t, tolerance);
    host.update();
    device.update();
    expect_same(device.x(), host.x(), "x");
    expect_same(device.r(), host.r(), "r");
    expect_close("rr", device.state().rr, host.state().rr, tolerance);
    expect_close_dot("rho", device.state().rho, host.state().rho, shadow * norm(host.r()), tolerance);
    ASSERT_EQ(device.state().iteration, step + 1);
    ASSERT_EQ(device.state().stop, 0);
    ASSERT_EQ(device.state().history_size, host.state().history_size);
    if (::testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(BicgstabPhasesTest, MatchTheHost) {
  for (const index_t m : grids())
    for (const Way way : {Way::plain, Way::separate, Way::uniform_blocks, Way::mixed_blocks})
      for (const bool hidden : {false, true}) {
        // every kernel is in one of these: see KernelsOfAnIteration
        if (is_under_tool() && way != Way::plain && (way != Way::mixed_blocks || hidden)) continue;
        expect_same_phases(convection_diffusion<TypeParam>(m), way, hidden);
      }
}

TYPED_TEST(BicgstabPhasesTest, MatchTheHostOnRowsOfAnyLength) {
  for (const index_t length : row_lengths) expect_same_phases(long_rows<TypeParam>(length), way_of_long_rows());
}

TYPED_TEST(BicgstabPhasesTest, MatchTheHostOnManyThreadBlocks) {
  for (const Way way : {Way::plain, Way::uniform_blocks, Way::mixed_blocks}) {
    if (way == Way::uniform_blocks && is_under_tool()) continue;
    expect_same_phases(convection_diffusion<TypeParam>(700), way);
  }
}

/// Without namespaces and arguments.
std::string plain_name(const RecordedKernel& kernel) {
  const std::string name = kernel.name.substr(0, kernel.name.find('<'));
  return name.substr(name.rfind(':') + 1);
}

TYPED_TEST(BicgstabPhasesTest, KernelsOfAnIteration) {
  using Names = std::vector<std::string>;
  const auto kernels_of = [](Way way, bool hidden) {
    Bicgstab<TypeParam> device(Backend::cuda(), convection_diffusion<TypeParam>(17), way);
    if (hidden) device.hide_matrix();
    Names names;
    for (const RecordedKernel& kernel : recorded_kernels(device.backend().stream(), [&] { device.iterate(); }))
      names.push_back(plain_name(kernel));
    return names;
  };
  for (const Way way : {Way::uniform_blocks, Way::mixed_blocks}) {
    EXPECT_EQ(kernels_of(way, false),
              (Names{"bicgstab_direction_and_blocks_kernel", "bicgstab_first_product_kernel",
                     "bicgstab_half_and_blocks_kernel", "bicgstab_second_product_kernel", "bicgstab_update_kernel"}));
    EXPECT_EQ(kernels_of(way, true),
              (Names{"bicgstab_direction_and_blocks_kernel", "csr_rows_product_kernel", "bicgstab_first_step_kernel",
                     "bicgstab_half_and_blocks_kernel", "csr_rows_product_kernel", "bicgstab_second_step_kernel",
                     "bicgstab_update_kernel"}));
  }
  EXPECT_EQ(kernels_of(Way::plain, false),
            (Names{"bicgstab_direction_kernel", "bicgstab_first_product_kernel", "bicgstab_half_kernel",
                   "bicgstab_second_product_kernel", "bicgstab_update_kernel"}));
  // This preconditioner is a product, too.
  EXPECT_EQ(kernels_of(Way::separate, false),
            (Names{"bicgstab_direction_kernel", "csr_rows_product_kernel", "bicgstab_first_product_kernel",
                   "bicgstab_half_kernel", "csr_rows_product_kernel", "bicgstab_second_product_kernel",
                   "bicgstab_update_kernel"}));
}

/// Products and blocks are not even multiplied then: what the vectors hold by that time stays.
TYPED_TEST(BicgstabPhasesTest, NothingRunsAfterTheStop) {
  for (const Way way : {Way::plain, Way::uniform_blocks, Way::mixed_blocks}) {
    SCOPED_TRACE(static_cast<int>(way));
    const auto a = convection_diffusion<TypeParam>(20);
    Bicgstab<TypeParam> device(Backend::cuda(), a, way, 3);
    for (int i = 0; i < 3; ++i) device.iterate();
    const auto state = device.state();
    EXPECT_EQ(state.stop, static_cast<int>(StopReason::max_iterations));
    EXPECT_EQ(state.iteration, 3);
    const auto other = random_vector<TypeParam>(static_cast<std::size_t>(a.rows), 43);
    for (Array<TypeParam>& vector : device.vectors()) vector.copy_from_host(other.data());
    for (int i = 0; i < 5; ++i) device.iterate();
    const auto later = device.state();
    EXPECT_EQ(std::memcmp(&state, &later, sizeof(state)), 0);
    for (std::size_t k = 0; k < device.vectors().size(); ++k)
      EXPECT_TRUE(same_bits(device.vectors()[k].to_host(), other)) << k;
  }
}

TYPED_TEST(BicgstabPhasesTest, OneUnknown) {
  for (const Way way : {Way::plain, Way::uniform_blocks}) {
    Bicgstab<TypeParam> host(Backend::host(), convection_diffusion<TypeParam>(1), way),
        device(Backend::cuda(), convection_diffusion<TypeParam>(1), way);
    host.first();
    device.first();
    expect_close("alpha", device.state().alpha, host.state().alpha, rounding(convection_diffusion<TypeParam>(1), 1));
  }
}

TYPED_TEST(BicgstabPhasesTest, TwoRunsGiveTheSameBits) {
  const auto a = convection_diffusion<TypeParam>(300);
  Bicgstab<TypeParam> one(Backend::cuda(), a, Way::mixed_blocks), other(Backend::cuda(), a, Way::mixed_blocks);
  for (int i = 0; i < 5; ++i) {
    one.iterate();
    other.iterate();
  }
  EXPECT_TRUE(same_bits(one.x().to_host(), other.x().to_host()));
  EXPECT_TRUE(same_bits(one.r().to_host(), other.r().to_host()));
  EXPECT_EQ(one.state().rr, other.state().rr);
}

TYPED_TEST(BicgstabPhasesTest, RecordedIterationsEqualDirectOnes) {
  const auto a = convection_diffusion<TypeParam>(30);
  Bicgstab<TypeParam> direct(Backend::cuda(), a, Way::uniform_blocks),
      recorded(Backend::cuda(), a, Way::uniform_blocks);
  const auto batch = recorded.backend().impl().record(
      [&] {
        for (int i = 0; i < 2; ++i) recorded.iterate();
      },
      true);
  for (int i = 0; i < 6; ++i) direct.iterate();
  for (int i = 0; i < 3; ++i) batch->replay();
  EXPECT_EQ(recorded.state().iteration, 6);
  EXPECT_TRUE(same_bits(recorded.x().to_host(), direct.x().to_host()));
  EXPECT_TRUE(same_bits(recorded.r().to_host(), direct.r().to_host()));
}

}  // namespace
}  // namespace blockjacobi::test
