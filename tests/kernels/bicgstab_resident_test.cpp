#include "tests/kernels/cg_recurrence.hpp"
#include "tests/kernels/recorded_kernels.hpp"

namespace blockjacobi::test {
namespace {

/// Iterations of BiCGSTAB in one launch, against their phases.
template <class T>
class BicgstabResidentTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(BicgstabResidentTest, Scalars);

/// The vectors and the state of one recurrence.
template <Scalar T>
class Bicgstab {
  using C = compute_t<T>;
  using State = detail::BicgstabState<C>;

 public:
  Bicgstab(const Backend& backend, const System<T>& a, Way way, int max_iterations = 100)
      : backend_(backend),
        n_(a.rows),
        system_(on<std::int32_t>(backend, a)),
        product_(ops().make_csr(system_.view())),
        blocks_(backend, system_.view(), partition<T>(n_, way)),
        b_(backend, random_vector<T>(size(), 42)),
        messages_(backend, 4 * size()),
        state_(backend, std::vector<State>{detail::bicgstab_initial_state<C>(0.0, max_iterations)}) {
    for (int k = 0; k < 8; ++k) vectors_.emplace_back(backend, random_vector<T>(size(), 41));
    for (Array<T>* vector : {&p(), &v(), &messages_}) vector->zero();
    ops().residual(*product_, data_of(b_), data_of(x()), data_of(r()));
    backend_.impl().copy(shadow().data(), r().data(), r().bytes());
    ops().bicgstab_update(all(), state_.data());
  }

  void iterate() {
    ops().bicgstab_direction(all(), state_.data());
    ops().bicgstab_first(*product_, &blocks_.preconditioner(), all(), state_.data());
    ops().bicgstab_second(*product_, &blocks_.preconditioner(), all(), state_.data());
    ops().bicgstab_update(all(), state_.data());
  }
  bool resides() { return ops().can_reside(*product_, &blocks_.preconditioner()); }
  /// Several iterations in one launch.
  void iterations(int count) {
    ops().bicgstab_iterations(*product_, &blocks_.preconditioner(), all(), data_of(messages_), count, state_.data());
  }
  /// The same in thread blocks with so much shared memory.
  void iterations_within(int count, int shared_bytes) {
    Array<std::byte> exchange(backend_, kernels::exchange_bytes());
    exchange.zero();
    messages_.zero();
    const auto a = system_.view();
    const auto inverse = *blocks_.preconditioner().inverse()->full;
    kernels::bicgstab_resident<C>(
        {a.rows, a.cols, a.nnz, a.row_offsets, a.columns, compute_cast(a.values), a.base, a.space}, inverse, all(),
        data_of(messages_), count, state_.data(), {nullptr, nullptr, exchange.data()}, backend_.stream(), shared_bytes);
    backend_.synchronize();
  }

  State state() const { return state_.to_host()[0]; }
  Array<T>& x() { return vectors_[0]; }
  Array<T>& r() { return vectors_[1]; }
  Array<T>& p() { return vectors_[3]; }
  Array<T>& v() { return vectors_[4]; }

 private:
  Array<T>& shadow() { return vectors_[2]; }
  std::size_t size() const { return static_cast<std::size_t>(n_); }
  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  detail::BicgstabVectors<C> all() {
    const auto at = [&](int k) { return data_of(vectors_[static_cast<std::size_t>(k)]); };
    return {n_, at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
  }

  Backend backend_;
  index_t n_;
  CsrArrays<T, std::int32_t> system_;
  std::unique_ptr<detail::OperatorImpl<T>> product_;
  BlockJacobi<T> blocks_;
  Array<T> b_;
  std::vector<Array<T>> vectors_;  // x r shadow p v t y z
  Array<T> messages_;
  Array<State> state_;
};

/// Two products an iteration, and one for the residual.
template <Scalar T>
double rounding(const System<T>& a, int iterations) {
  return rounding_of_iterations(a, 2 * iterations + 1, 32);
}

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
  Bicgstab<T> phases(Backend::host(), a, way), device(Backend::cuda(), a, way), again(Backend::cuda(), a, way);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  int iterations = 0;
  for (const int count : {1, 2}) {
    iterations += count;
    for (int i = 0; i < count; ++i) phases.iterate();
    device.iterations(count);
    again.iterations(count);
    expect_same(device, phases, rounding(a, iterations));
    EXPECT_TRUE(same_bits(device.x().to_host(), again.x().to_host()));
    EXPECT_TRUE(same_bits(device.p().to_host(), again.p().to_host()));
  }
}

TYPED_TEST(BicgstabResidentTest, MatchThePhases) {
  expect_resident_iterations(convection_diffusion<TypeParam>(17), Way::uniform_blocks);
  expect_resident_iterations(convection_diffusion<TypeParam>(40), Way::mixed_blocks);
  expect_resident_iterations(long_rows<TypeParam>(200), Way::mixed_blocks);
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
  plenty.iterations(3);
  for (const int held : {100, 3000, 6500}) {  // as for CG
    SCOPED_TRACE(held);
    Bicgstab<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks);
    little.iterations_within(2, 5500 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t)));
    little.iterations_within(1, 5500 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t)));
    expect_same(little, plenty, rounding(a, 3));
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
