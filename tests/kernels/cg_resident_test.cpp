#include "tests/kernels/cg_recurrence.hpp"

namespace blockjacobi::test {
namespace {

/// Iterations of CG in one launch, against their phases.
template <class T>
class CgResidentTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CgResidentTest, Scalars);

template <Scalar T>
void expect_resident_iterations(const System<T>& a, Way way, Storage storage = Storage::full) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", "
                                    << to_string(storage));
  // A narrow format may round what two backends compute to different neighbours.
  const Backend other = storage == Storage::full ? Backend::host() : Backend::cuda();
  Recurrence<T> phases(other, a, way, 0.0, 100, in(storage)), device(Backend::cuda(), a, way, 0.0, 100, in(storage));
  std::optional<Recurrence<T>> again;
  if (!is_under_tool()) again.emplace(Backend::cuda(), a, way, 0.0, 100, in(storage));
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  int iterations = 1;  // the residual and z of the beginning count as one
  for (const int count : {1, 2, 3}) {
    if (count != 2 && is_under_tool()) continue;  // in one launch of two, the first waits once, the last twice
    iterations += count;
    const double tolerance = rounding_of_iterations(a, iterations, 32);
    for (int i = 0; i < count; ++i) phases.iterate();
    device.iterations(count);
    EXPECT_EQ(device.state().iteration, phases.state().iteration);
    EXPECT_EQ(device.state().history_size, phases.state().history_size);
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

TYPED_TEST(CgResidentTest, MatchThePhases) {
  expect_resident_iterations(laplacian<TypeParam>(17), Way::uniform_blocks);
  expect_resident_iterations(long_rows<TypeParam>(200), Way::mixed_blocks);
}

TYPED_TEST(CgResidentTest, InOtherStorage) {
  // The others are read the same way, and ManySystemsMatchThePhases has them.
  for (const Storage storage : {Storage::packed, Storage::adaptive})
    expect_resident_iterations(laplacian<TypeParam>(17), Way::mixed_blocks, storage);
}

TYPED_TEST(CgResidentTest, ManySystemsMatchThePhases) {
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
TYPED_TEST(CgResidentTest, InLittleSharedMemory) {
  const auto a = long_rows<TypeParam>(200);
  Recurrence<TypeParam> plenty(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100);
  ASSERT_TRUE(plenty.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!plenty.resides()) GTEST_SKIP() << "no cooperative launches";
  const int first = is_under_tool() ? 2 : 4, then = is_under_tool() ? 0 : 2;
  plenty.iterations(first);
  if (then > 0) plenty.iterations(then);
  const double tolerance = rounding_of_iterations(a, 1 + first + then, 32);
  // A thread block with a block of 32 rows has 6400 entries and 430 elements, which take 2 bytes less an entry where
  // all fit: next to nothing does, a part of the entries, all of them but few, everything but what a single wait takes.
  constexpr int element = sizeof(TypeParam) + sizeof(index_t), all = 6400 * (element - 2) + 430 * element;
  for (const int held : {100 * element, 3000 * element, all - 3000, all}) {
    SCOPED_TRACE(held);
    if (is_under_tool() && held != 3000 * element && held != all - 3000) continue;
    const int bytes = 3000 + held;
    Recurrence<TypeParam> little(Backend::cuda(), a, Way::mixed_blocks, 0.0, 100);
    EXPECT_EQ(little.iterations_within(first, bytes), 1 + 2u * static_cast<unsigned>(first))
        << "two waits an iteration";
    if (then > 0) little.iterations_within(then, bytes);
    EXPECT_EQ(little.state().iteration, first + then);
    expect_close("rr", little.state().rr, plenty.state().rr, tolerance);
    EXPECT_LE(relative_difference(little.x(), plenty.x()), tolerance);
    EXPECT_LE(relative_difference(little.p(), plenty.p()), tolerance);
  }
}

/// A launch begins with a wait for sums.
TYPED_TEST(CgResidentTest, WaitOnceAnIteration) {
  const auto a = laplacian<TypeParam>(40);
  Recurrence<TypeParam> device(Backend::cuda(), a, Way::blocks_of_8, 0.0, 100);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  EXPECT_EQ(device.iterations_within(1, 0), 1 + 2u);
  EXPECT_EQ(device.iterations_within(10, 0), 1 + 10 + 1u) << "the last one waits twice";
  // z is made anew every 32 iterations, in single precision more often.
  const unsigned waits = device.iterations_within(70, 0);
  EXPECT_GE(waits, 1 + 70 + 3u);
  EXPECT_LE(waits, 1 + 70 + 9u);
  EXPECT_EQ(device.state().iteration, 81);
  EXPECT_EQ(device.state().stop, 0);
}

/// A step that takes nearly all of the residual away leaves nothing to foresee the next one by.
TYPED_TEST(CgResidentTest, WaitTwiceWhereTheForecastIsRounding) {
  // Blocks of 8 of a matrix that has hardly anything else.
  System<TypeParam> a{1600, {0}, {}, {}};
  for (index_t i = 0; i < a.rows; ++i) {
    for (const index_t j : {i - 8, i, i + 8}) {
      if (j < 0 || j >= a.rows) continue;
      a.columns.push_back(j);
      a.values.push_back(TypeParam(real_t<TypeParam>(i == j ? 2 : 0.01)));
    }
    a.offsets.push_back(static_cast<std::int64_t>(a.columns.size()));
  }
  Recurrence<TypeParam> phases(Backend::host(), a, Way::blocks_of_8, 0.0, 100);
  Recurrence<TypeParam> device(Backend::cuda(), a, Way::blocks_of_8, 0.0, 100);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  const double begin = std::sqrt(phases.state().rr), rounding = rounding_of_iterations(a, 3, 8);
  EXPECT_EQ(device.iterations_within(2, 0), 1 + 2 * 2u);
  for (int i = 0; i < 2; ++i) phases.iterate();
  // What rounding leaves in r is relative to the first residual, of which hardly anything remains.
  EXPECT_LE(std::abs(std::sqrt(device.state().rr) - std::sqrt(phases.state().rr)), rounding * begin);
  EXPECT_LE(std::sqrt(phases.state().rr), 1e-3 * begin);
  EXPECT_LE(relative_difference(device.x(), phases.x()), rounding);
}

/// Hermitian; most rows have nothing but their diagonals, so that a thread block gets many of them, the others 60.
/// Under a tool a few thread blocks of 132 do.
template <Scalar T>
System<T> uneven_rows() {
  const index_t short_rows = is_under_tool() ? 2500 : 45000;
  System<T> a{short_rows + (is_under_tool() ? 15500 : 15000), {0}, {}, {}};
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

TYPED_TEST(CgResidentTest, MoreRowsThanThreads) {
  expect_resident_iterations(uneven_rows<TypeParam>(), Way::mixed_blocks);
  // Inverses that are set up together, although they are more than others are at once.
  expect_resident_iterations(uneven_rows<TypeParam>(), Way::uniform_blocks, Storage::packed);
}

TYPED_TEST(CgResidentTest, EndWithTheStop) {
  Recurrence<TypeParam> phases(Backend::cuda(), laplacian<TypeParam>(20), Way::mixed_blocks, 0.0, 3);
  Recurrence<TypeParam> device(Backend::cuda(), laplacian<TypeParam>(20), Way::mixed_blocks, 0.0, 3);
  ASSERT_TRUE(device.resides() || !is_sm_90()) << "one launch for all iterations";
  if (!device.resides()) GTEST_SKIP() << "no cooperative launches";
  for (int i = 0; i < 3; ++i) phases.iterate();
  device.iterations(10);
  EXPECT_EQ(device.state().stop, static_cast<int>(StopReason::max_iterations));
  EXPECT_EQ(device.state().iteration, 3);
  EXPECT_LE(relative_difference(device.x(), phases.x()), rounding_of_iterations(laplacian<TypeParam>(20), 4, 32));
  const auto x = device.x(), p = device.p();
  device.iterations(5);
  EXPECT_TRUE(same_bits(device.x(), x));
  EXPECT_TRUE(same_bits(device.p(), p));
}

}  // namespace
}  // namespace blockjacobi::test
