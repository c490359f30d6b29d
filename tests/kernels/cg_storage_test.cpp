#include "kernels/apply/launch.hpp"
#include "kernels/krylov/launch.hpp"
#include "kernels/storage/launch.hpp"
#include "tests/kernels/cg_recurrence.hpp"

namespace blockjacobi::test {
namespace {

/// The phase of CG that applies the inverses, which takes stored ones along as far as it can.
template <class T>
class CgStorageTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CgStorageTest, Scalars);

/// The phase that takes blocks of any storage along, against the apply and its own phases.
template <Scalar T>
void expect_update_as_by_apply(const System<T>& a, Way way, Storage storage) {
  SCOPED_TRACE(::testing::Message() << "n = " << a.rows << ", way " << static_cast<int>(way) << ", "
                                    << to_string(storage));
  Recurrence<T> together(Backend::cuda(), a, way, 0.0, 100, in(storage));
  Recurrence<T> apart(Backend::cuda(), a, way, 0.0, 100, in(storage));
  apart.hide_blocks();
  for (int step = 0; step < (is_under_tool() ? 1 : 3); ++step) {
    SCOPED_TRACE(step);
    const double tolerance = rounding_of_iterations(a, step + 2, 32);
    together.iterate();
    apart.iterate();
    ASSERT_LE(relative_difference(together.r(), apart.r()), tolerance);
    ASSERT_LE(relative_difference(together.z(), apart.z()), tolerance);
    expect_close("rr", together.state().rr, apart.state().rr, tolerance);
    expect_close("rho", together.state().rho, apart.state().rho, tolerance);
    ASSERT_LE(relative_difference(together.x(), apart.x()), tolerance);
  }
}

template <Scalar T>
bool are_taken(Way way, Storage storage) {
  Recurrence<T> recurrence(Backend::cuda(), laplacian<T>(12), way, 0.0, 100, in(storage));
  const auto blocks = recurrence.preconditioner()->inverse()->stored;
  return blocks && kernels::cg_update_policy(kernels::scalar_of<detail::compute_t<T>>, blocks->groups).design !=
                       kernels::CgUpdateDesign::apart;
}

TYPED_TEST(CgStorageTest, WhichBlocksTheUpdateTakes) {
  for (const Storage storage : {Storage::bf16, Storage::fp16}) {
    EXPECT_TRUE(are_taken<TypeParam>(Way::uniform_blocks, storage));
    EXPECT_TRUE(are_taken<TypeParam>(Way::blocks_of_12, storage));
    EXPECT_FALSE(are_taken<TypeParam>(Way::mixed_blocks, storage));
  }
  // fp32 is the full format of single precision.
  const bool narrow = sizeof(real_t<TypeParam>) > sizeof(float);
  for (const Way way : {Way::uniform_blocks, Way::mixed_blocks}) {
    EXPECT_EQ(are_taken<TypeParam>(way, Storage::fp32), narrow);
    EXPECT_FALSE(are_taken<TypeParam>(way, Storage::packed));
  }
}

TYPED_TEST(CgStorageTest, UpdateWithBlocksInEveryStorage) {
  for (const Storage storage : other_storages) {
    // Under a tool each kernel once: fp32 loads pieces of one length, 16-bit blocks of several orders are not taken.
    const bool fp32 = storage == Storage::fp32;
    if (is_under_tool() && (storage == Storage::packed || storage == Storage::adaptive)) continue;
    expect_update_as_by_apply(laplacian<TypeParam>(8), Way::uniform_blocks, storage);  // of order 32
    if (!is_under_tool() || !fp32) expect_update_as_by_apply(laplacian<TypeParam>(12), Way::blocks_of_12, storage);
    if (!is_under_tool() || fp32) expect_update_as_by_apply(laplacian<TypeParam>(17), Way::mixed_blocks, storage);
  }
}

TYPED_TEST(CgStorageTest, UpdateWithBlocksOfManyOrdersInEveryStorage) {
  for (const Storage storage : other_storages) {
    // Orders 27, 24, 28, 17.
    for (const index_t m : {9, 12, 14, 17})
      expect_update_as_by_apply(laplacian<TypeParam>(m), Way::uniform_blocks, storage);
    for (const Way way : {Way::blocks_of_8, Way::blocks_of_16})
      expect_update_as_by_apply(laplacian<TypeParam>(12), way, storage);
  }
}

TYPED_TEST(CgStorageTest, UpdateWithBlocksInEveryStorageOnManyThreadBlocks) {
  for (const Storage storage : other_storages)
    for (const Way way : {Way::uniform_blocks, Way::blocks_of_8, Way::mixed_blocks})
      expect_update_as_by_apply(laplacian<TypeParam>(700), way, storage);
}

}  // namespace
}  // namespace blockjacobi::test
