#include "kernels/launch.hpp"
#include "tests/kernels/systems.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <cstddef>
#include <optional>

namespace blockjacobi::test {
namespace {

using detail::CgState;
using detail::CgVectors;
using detail::compute_cast;
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

/// Block-Jacobi that shows nothing but its apply.
template <Scalar T>
class ApplyOnly final : public detail::PreconditionerImpl<T> {
 public:
  explicit ApplyOnly(const detail::PreconditionerImpl<T>& blocks) : blocks_(blocks) {}
  index_t rows() const override { return blocks_.rows(); }
  void apply(const T* r, T* z) const override { blocks_.apply(r, z); }
  bool capturable() const override { return true; }

 private:
  const detail::PreconditionerImpl<T>& blocks_;
};

/// What z = M^-1 r goes through: r itself, phases of their own, and the phase that takes the blocks along.
enum class Way { plain, separate, uniform_blocks, blocks_of_8, blocks_of_12, blocks_of_16, mixed_blocks };

template <Scalar T>
BlockPartition partition(index_t rows, Way way) {
  if (way == Way::blocks_of_8) return BlockPartition::uniform(rows, 8);
  if (way == Way::blocks_of_12) return BlockPartition::uniform(rows, 12);
  if (way == Way::blocks_of_16) return BlockPartition::uniform(rows, 16);
  if (way == Way::uniform_blocks) {
    for (index_t order = 32; order > 1; --order)
      if (rows % order == 0) return BlockPartition::uniform(rows, order);
    return BlockPartition::uniform(rows, 1);
  }
  std::vector<index_t> offsets{0};
  const index_t orders[] = {1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 32};
  for (std::size_t k = 0; offsets.back() < rows; ++k)
    offsets.push_back(std::min(rows, offsets.back() + orders[k % std::size(orders)]));
  return BlockPartition::from_offsets(offsets);
}

/// The vectors and the state of one recurrence on one backend.
template <Scalar T>
class Recurrence {
  using State = CgState<compute_t<T>>;

 public:
  Recurrence(const Backend& backend, const System<T>& a, Way way, double target, int max_iterations,
             const BlockJacobiOptions& options = {})
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
    if (way == Way::separate) scaling_.emplace(backend, n_);
    if (way != Way::plain && way != Way::separate)
      blocks_.emplace(backend, system_.view(), partition<T>(n_, way), options);
    p_.zero();
    q_.zero();
    ops().residual(*product_, b_.data(), x_.data(), r_.data());
    update();
    direction();
  }

  detail::KrylovOps<T>& ops() { return detail::krylov_ops<T>(backend_); }
  CgVectors<T> vectors() {
    return {n_, x_.data(), r_.data(), preconditioner() != nullptr ? z_.data() : r_.data(), p_.data(), q_.data()};
  }
  const detail::PreconditionerImpl<T>* preconditioner() const {
    if (apply_only_) return &*apply_only_;
    if (blocks_) return &blocks_->preconditioner();
    return scaling_ ? &*scaling_ : nullptr;
  }
  void product() { ops().cg_product(*product_, vectors(), state_.data()); }
  void update() { ops().cg_update(preconditioner(), vectors(), state_.data()); }
  void direction() { ops().cg_direction(vectors(), state_.data()); }
  void iterate() {
    product();
    update();
    direction();
  }

  /// From now on blocks are applied by a phase of their own.
  void hide_blocks() { apply_only_.emplace(blocks_->preconditioner()); }

  /// Several iterations, in one launch where there is one for this system.
  bool resides() { return ops().cg_can_reside(*product_, preconditioner()); }
  void iterations(int count) {
    if (!resides()) return;
    const Array<T> spare(backend_, size());
    ops().cg_iterations(*product_, preconditioner(), vectors(), spare.data(), count, state_.data());
  }

  /// The same in thread blocks with so much shared memory.
  void iterations_within(int count, int shared_bytes) {
    using C = compute_t<T>;
    const Array<T> spare(backend_, size());
    Array<std::byte> exchange(backend_, kernels::exchange_bytes());
    exchange.zero();
    const auto a = system_.view();
    const auto x = *blocks_->preconditioner().full_blocks();
    const auto v = vectors();
    kernels::cg_resident<C>(
        {a.rows, a.cols, a.nnz, a.row_offsets, a.columns, compute_cast(a.values), a.base, a.space},
        {compute_cast(x.data), x.slots, x.groups, x.blocks, x.rows, x.space},
        {v.n, compute_cast(v.x), compute_cast(v.r), compute_cast(v.z), compute_cast(v.p), compute_cast(v.q)},
        compute_cast(spare.data()), count, state_.data(), {nullptr, nullptr, exchange.data()}, backend_.stream(),
        shared_bytes);
    backend_.synchronize();
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
  std::optional<Scaling<T>> scaling_;
  std::optional<BlockJacobi<T>> blocks_;
  std::optional<ApplyOnly<T>> apply_only_;
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

/// Hermitian, with `length` entries in every row but the first and the last ones, and dominant diagonals.
template <Scalar T>
System<T> long_rows(index_t length) {
  System<T> a{500, {0}, {}, {}};
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t j = std::max(0, i - length / 2); j <= std::min(a.rows - 1, i + length / 2); ++j) {
      a.columns.push_back(j);
      a.values.push_back(i == j ? T(real_t<T>(length)) : T(real_t<T>(-0.9 / (1 + std::abs(i - j) % 3))));
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

template <Scalar T>
void expect_same_phases(const System<T>& a, Way way) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way));
  Recurrence<T> host(Backend::host(), a, way, 0.0, 100);
  Recurrence<T> device(Backend::cuda(), a, way, 0.0, 100);
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

TYPED_TEST(CgPhasesTest, SmallMatchTheHost) {
  for (const index_t m : {6, 16, 17, 40})
    for (const Way way : {Way::plain, Way::separate, Way::uniform_blocks, Way::mixed_blocks})
      expect_same_phases(laplacian<TypeParam>(m), way);
}

TYPED_TEST(CgPhasesTest, SmallMatchTheHostOnRowsOfAnyLength) {
  for (const index_t length : {20, 60, 200}) expect_same_phases(long_rows<TypeParam>(length), Way::mixed_blocks);
}

TYPED_TEST(CgPhasesTest, MatchTheHostOnManyThreadBlocks) {
  for (const Way way : {Way::separate, Way::uniform_blocks, Way::mixed_blocks})
    expect_same_phases(laplacian<TypeParam>(700), way);
}

TYPED_TEST(CgPhasesTest, SmallOneUnknown) {
  Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(1), Way::plain, 1e-3, 100);
  device.iterate();
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::converged));
  EXPECT_EQ(device.state().iteration, 1);
}

TYPED_TEST(CgPhasesTest, SmallNothingChangesAfterTheStop) {
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

TYPED_TEST(CgPhasesTest, SmallIndefiniteMatrixIsReported) {
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

TYPED_TEST(CgPhasesTest, SmallRecordedIterationsEqualDirectOnes) {
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

/// So accurate that adaptive storage has more than one format for the blocks of laplacian().
BlockJacobiOptions in(Storage storage) {
  BlockJacobiOptions options;
  options.storage = storage;
  options.accuracy = 4e-4;
  return options;
}

/// The phase that takes blocks of any storage along, against the apply and its own phases.
template <Scalar T>
void expect_update_as_by_apply(const System<T>& a, Way way, Storage storage) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", "
                                    << to_string(storage));
  Recurrence<T> together(Backend::cuda(), a, way, 0.0, 100, in(storage));
  Recurrence<T> apart(Backend::cuda(), a, way, 0.0, 100, in(storage));
  apart.hide_blocks();
  const double tolerance = 1e4 * epsilon<T>;
  for (int step = 0; step < 3; ++step) {
    SCOPED_TRACE(step);
    together.iterate();
    apart.iterate();
    ASSERT_LE(relative_difference(together.r(), apart.r()), tolerance);
    ASSERT_LE(relative_difference(together.z(), apart.z()), tolerance);
    expect_close("rr", together.state().rr, apart.state().rr, tolerance);
    expect_close("rho", together.state().rho, apart.state().rho, tolerance);
    ASSERT_LE(relative_difference(together.x(), apart.x()), tolerance);
  }
}

constexpr Storage other_storages[] = {Storage::packed, Storage::fp32, Storage::bf16, Storage::fp16, Storage::adaptive};

TYPED_TEST(CgPhasesTest, SmallUpdateWithBlocksInEveryStorage) {
  for (const Storage storage : other_storages) {
    expect_update_as_by_apply(laplacian<TypeParam>(8), Way::uniform_blocks, storage);  // of order 32
    expect_update_as_by_apply(laplacian<TypeParam>(12), Way::blocks_of_12, storage);
    expect_update_as_by_apply(laplacian<TypeParam>(17), Way::mixed_blocks, storage);
  }
}

TYPED_TEST(CgPhasesTest, UpdateWithBlocksOfManyOrdersInEveryStorage) {
  for (const Storage storage : other_storages) {
    // Orders 27, 24, 28, 17.
    for (const index_t m : {9, 12, 14, 17})
      expect_update_as_by_apply(laplacian<TypeParam>(m), Way::uniform_blocks, storage);
    for (const Way way : {Way::blocks_of_8, Way::blocks_of_16})
      expect_update_as_by_apply(laplacian<TypeParam>(12), way, storage);
  }
}

TYPED_TEST(CgPhasesTest, UpdateWithBlocksInEveryStorageOnManyThreadBlocks) {
  for (const Storage storage : other_storages)
    for (const Way way : {Way::uniform_blocks, Way::blocks_of_8, Way::mixed_blocks})
      expect_update_as_by_apply(laplacian<TypeParam>(700), way, storage);
}

template <Scalar T>
void expect_resident_iterations(const System<T>& a, Way way, Storage storage = Storage::full) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", "
                                    << to_string(storage));
  // A narrow format may round what two backends compute to different neighbours.
  const Backend other = storage == Storage::full ? Backend::host() : Backend::cuda();
  Recurrence<T> phases(other, a, way, 0.0, 100, in(storage)), device(Backend::cuda(), a, way, 0.0, 100, in(storage));
  Recurrence<T> again(Backend::cuda(), a, way, 0.0, 100, in(storage));
  ASSERT_EQ(device.resides(), Recurrence<T>(Backend::cuda(), a, way, 0.0, 100).resides());
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  const double tolerance = 1e4 * epsilon<T>;
  for (const int count : {1, 2, 3}) {
    for (int i = 0; i < count; ++i) phases.iterate();
    device.iterations(count);
    again.iterations(count);
    EXPECT_EQ(device.state().iteration, phases.state().iteration);
    EXPECT_EQ(device.state().history_size, phases.state().history_size);
    expect_close("rr", device.state().rr, phases.state().rr, tolerance);
    EXPECT_LE(relative_difference(device.x(), phases.x()), tolerance);
    EXPECT_LE(relative_difference(device.r(), phases.r()), tolerance);
    EXPECT_LE(relative_difference(device.p(), phases.p()), tolerance);
    EXPECT_TRUE(same_bits(device.x(), again.x()));
    EXPECT_TRUE(same_bits(device.p(), again.p()));
  }
}

TYPED_TEST(CgPhasesTest, SmallResidentIterationsMatchThePhases) {
  expect_resident_iterations(laplacian<TypeParam>(17), Way::uniform_blocks);
  expect_resident_iterations(long_rows<TypeParam>(200), Way::mixed_blocks);
}

TYPED_TEST(CgPhasesTest, SmallResidentIterationsInOtherStorage) {
  // The others are read the same way, and ResidentIterationsOfManySystemsMatchThePhases has them.
  for (const Storage storage : {Storage::packed, Storage::adaptive})
    expect_resident_iterations(laplacian<TypeParam>(17), Way::mixed_blocks, storage);
}

TYPED_TEST(CgPhasesTest, ResidentIterationsOfManySystemsMatchThePhases) {
  for (const Way way : {Way::uniform_blocks, Way::mixed_blocks}) {
    for (const index_t m : {17, 40}) expect_resident_iterations(laplacian<TypeParam>(m), way);
    for (const index_t length : {20, 200}) expect_resident_iterations(long_rows<TypeParam>(length), way);
    for (const Storage storage : other_storages) {
      expect_resident_iterations(laplacian<TypeParam>(40), way, storage);
      expect_resident_iterations(long_rows<TypeParam>(200), way, storage);
    }
  }
}

/// Entries and elements of the direction stay in L2 as far as they find no room.
TYPED_TEST(CgPhasesTest, SmallResidentIterationsInLittleSharedMemory) {
  const auto a = long_rows<TypeParam>(200);
  Recurrence<TypeParam> plenty(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100);
  if (!plenty.resides()) GTEST_SKIP() << "no cooperative launches";
  plenty.iterations(4);
  plenty.iterations(2);
  // A thread block has about 800 entries and 200 elements: next to nothing fits, a part of the entries, of the
  // elements.
  for (const int held : {100, 600, 950}) {
    SCOPED_TRACE(held);
    const int bytes = 400 + held * static_cast<int>(sizeof(TypeParam) + sizeof(index_t));
    Recurrence<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100);
    little.iterations_within(4, bytes);
    little.iterations_within(2, bytes);
    EXPECT_EQ(little.state().iteration, 6);
    expect_close("rr", little.state().rr, plenty.state().rr, 1e4 * epsilon<TypeParam>);
    EXPECT_LE(relative_difference(little.x(), plenty.x()), 1e4 * epsilon<TypeParam>);
    EXPECT_LE(relative_difference(little.p(), plenty.p()), 1e4 * epsilon<TypeParam>);
  }
}

/// Hermitian; most rows have nothing but their diagonals, so that a thread block gets many of them, the others 60.
template <Scalar T>
System<T> uneven_rows() {
  constexpr index_t short_rows = 45000;
  System<T> a{60000, {0}, {}, {}};
  for (index_t i = 0; i < a.rows; ++i) {
    for (index_t j = i < short_rows ? i : std::max(short_rows, i - 30);
         j <= (i < short_rows ? i : std::min(a.rows - 1, i + 30)); ++j) {
      a.columns.push_back(j);
      a.values.push_back(i == j ? T(real_t<T>(60 + i % 5)) : T(real_t<T>(-0.9)));
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  return a;
}

TYPED_TEST(CgPhasesTest, ResidentIterationsWithMoreRowsThanThreads) {
  expect_resident_iterations(uneven_rows<TypeParam>(), Way::mixed_blocks);
  // Inverses that are set up together, although they are more than others are at once.
  expect_resident_iterations(uneven_rows<TypeParam>(), Way::uniform_blocks, Storage::packed);
}

TYPED_TEST(CgPhasesTest, SmallResidentIterationsEndWithTheStop) {
  Recurrence<TypeParam> phases(Backend::cuda(), laplacian<TypeParam>(20), Way::mixed_blocks, 0.0, 3);
  Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(20), Way::mixed_blocks, 0.0, 3);
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  for (int i = 0; i < 3; ++i) phases.iterate();
  device.iterations(10);
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::max_iterations));
  EXPECT_EQ(device.state().iteration, 3);
  EXPECT_LE(relative_difference(device.x(), phases.x()), 1e4 * epsilon<TypeParam>);
  const auto x = device.x(), p = device.p();
  device.iterations(5);
  EXPECT_TRUE(same_bits(device.x(), x));
  EXPECT_TRUE(same_bits(device.p(), p));
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

  const Array<int> no(backend, std::vector<int>{0}), yes(backend, std::vector<int>{3});
  ops.add(static_cast<index_t>(n), device_u.data(), device_x.data(), no.data());
  EXPECT_TRUE(same_bits(device_x.to_host(), x));
  ops.add(static_cast<index_t>(n), device_u.data(), device_x.data(), yes.data());
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
