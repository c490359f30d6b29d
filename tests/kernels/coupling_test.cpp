#include "tests/kernels/counting_resource.hpp"
#include "tests/kernels/systems.hpp"

#include <blockjacobi/block_partition.hpp>

#include <utility>

namespace blockjacobi::test {
namespace {

template <class T>
class CouplingTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CouplingTest, Scalars);

/// Weak couplings north and south, strong ones west and east, which the lines of the grid end.
template <Scalar T>
System<T> lines(index_t m) {
  return stencil<T>(m, T(4), T(-1), T(-1), T(-0.001F), T(-0.001F));
}

template <Scalar T>
auto blocks_on_device(const Backend& backend, const System<T>& a) {
  const auto system = on<std::int32_t>(backend, a, IndexBase::one);
  const auto v = system.view();
  const CsrView<const void, std::int32_t> untyped{v.rows,    v.cols,   v.nnz,  v.row_offsets,
                                                  v.columns, v.values, v.base, v.space};
  return backend.impl().partition_ops().detect_coupled(backend, untyped, scalar_type<T>, {{}, 0.01});
}

TYPED_TEST(CouplingTest, SortedRowsStayOnTheDevice) {
  const auto resource = std::make_shared<CountingResource>();
  const Backend backend = Backend::cuda(0, nullptr, resource);
  const std::size_t before = resource->live;
  const auto found = blocks_on_device(backend, lines<TypeParam>(20));
  EXPECT_EQ(resource->live, before);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, BlockPartition::uniform(400, 20));
}

TYPED_TEST(CouplingTest, OthersAreLeftToTheHost) {
  const Backend backend = Backend::cuda();
  System<TypeParam> unsorted = lines<TypeParam>(5), duplicate = unsorted;
  std::swap(unsorted.columns[0], unsorted.columns[1]);
  std::swap(unsorted.values[0], unsorted.values[1]);
  EXPECT_FALSE(blocks_on_device(backend, unsorted).has_value());
  duplicate.columns[1] = duplicate.columns[0];
  EXPECT_FALSE(blocks_on_device(backend, duplicate).has_value());
}

}  // namespace
}  // namespace blockjacobi::test
