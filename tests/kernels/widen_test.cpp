#include "kernels/krylov/launch.hpp"
#include "tests/kernels/systems.hpp"

#include <blockjacobi/block_jacobi.hpp>

#include <optional>

namespace blockjacobi::test {
namespace {

/// Blocks that a solver finds in full beside their storage.
template <class T>
class WidenTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(WidenTest, Scalars);

constexpr Storage all_storages[] = {Storage::full, Storage::packed, Storage::fp32,
                                    Storage::bf16, Storage::fp16,   Storage::adaptive};

BlockPartition mixed_orders(index_t rows, index_t largest) {
  std::vector<index_t> offsets{0};
  for (index_t order = 1; offsets.back() < rows; order = order % largest + 1)
    offsets.push_back(std::min(rows, offsets.back() + order));
  return BlockPartition::from_offsets(offsets);
}

template <Scalar T>
std::optional<BlockBatchView<const detail::compute_t<T>>> full_blocks(const BlockJacobi<T>& M) {
  return M.preconditioner().inverse()->full;
}

template <Scalar T>
void expect_what_the_apply_has(const BlockJacobi<T>& M) {
  const auto full = full_blocks(M);
  const bool reside =
      detail::krylov_ops<T>(M.backend()).reads_in_full(BlockLayout(M.partition(), sizeof(T)).groups(), M.rows());
  ASSERT_TRUE(reside || !is_sm_90());
  if (!reside) GTEST_SKIP() << "no cooperative launches";
  ASSERT_TRUE(full);
  auto& backend = M.backend().impl();
  std::vector<BlockSlot> slots(static_cast<std::size_t>(full->blocks));
  backend.copy_to_host(slots.data(), full->slots, slots.size() * sizeof(BlockSlot));
  for (const BlockSlot& slot : slots) {
    const std::vector<T> expected = M.inverse_block(slot.block);
    std::vector<T> found(expected.size());
    backend.copy_to_host(found.data(), full->data + slot.start, found.size() * sizeof(T));
    ASSERT_EQ(found, expected) << "block " << slot.block << " of order " << slot.size;
  }
}

template <Scalar T>
void expect_full_blocks(const BlockPartition& partition) {
  System<T> a = laplacian<T>(23);
  const Backend backend = Backend::cuda();
  for (const Storage storage : all_storages) {
    SCOPED_TRACE(to_string(storage));
    const auto system = on<std::int32_t>(backend, a);
    BlockJacobiOptions options;
    options.storage = storage;
    options.accuracy = 4e-4;  // more than one format
    BlockJacobi<T> M(backend, system.view(), partition, options);
    if (storage == Storage::adaptive) {
      EXPECT_GT(M.report().formats.size(), 1u);
    }
    expect_what_the_apply_has(M);
    System<T> other = a;
    for (T& value : other.values) value *= T(real_t<T>(0.7));
    const Array<T> values(backend, other.values);
    M.refresh(values.data(), static_cast<offset_t>(values.size()), MemorySpace::device);
    expect_what_the_apply_has(M);
    M.rebuild(values.data(), static_cast<offset_t>(values.size()), MemorySpace::device);
    expect_what_the_apply_has(M);
  }
}

TYPED_TEST(WidenTest, MixedOrders) { expect_full_blocks<TypeParam>(mixed_orders(23 * 23, 32)); }

TYPED_TEST(WidenTest, OrderOfTwentyThree) {
  const Backend backend = Backend::cuda();
  const auto a = laplacian<TypeParam>(23);
  const auto system = on<std::int32_t>(backend, a);
  for (const Storage storage : all_storages) {
    SCOPED_TRACE(to_string(storage));
    BlockJacobiOptions options;
    options.storage = storage;
    expect_what_the_apply_has(
        BlockJacobi<TypeParam>(backend, system.view(), BlockPartition::uniform(a.rows, 23), options));
  }
}

/// No solver reads these in full: blocks too large for a warp, and too many rows.
TYPED_TEST(WidenTest, NotWhereNobodyReadsThem) {
  const Backend backend = Backend::cuda();
  BlockJacobiOptions options;
  options.storage = Storage::packed;
  const auto few = laplacian<TypeParam>(23), many = laplacian<TypeParam>(600);
  const auto small = on<std::int32_t>(backend, few), large = on<std::int32_t>(backend, many);
  EXPECT_FALSE(
      full_blocks(BlockJacobi<TypeParam>(backend, small.view(), BlockPartition::uniform(few.rows, 33), options)));
  EXPECT_FALSE(full_blocks(BlockJacobi<TypeParam>(backend, large.view(), mixed_orders(many.rows, 8), options)));
}

}  // namespace
}  // namespace blockjacobi::test
