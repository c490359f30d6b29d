#include <blockjacobi/blockjacobi.hpp>

#include "support/dense.hpp"
#include "unit/backend/run_batched.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

// Counting needs glibc's second name for malloc, and the sanitizers bring a malloc of their own.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)

namespace {
thread_local long allocations = 0;
}

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* malloc(std::size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
}

namespace blockjacobi::test {
namespace {

template <class T>
class HostAllocation : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(HostAllocation, Scalars);

TYPED_TEST(HostAllocation, RefreshAndApplyAllocateNothing) {
  using T = TypeParam;
  const std::vector<index_t> offsets{0, 1, 9, 40, 74, 202, 714};
  const BlockPartition partition = BlockPartition::from_offsets(offsets);
  const index_t n = partition.rows();
  Random random(3);
  std::vector<offset_t> rows{0};
  std::vector<index_t> columns;
  std::vector<T> values;
  for (index_t b = 0; b < partition.blocks(); ++b) {
    const Dense<T> block = random_dense<T>(partition.block_size(b), random);
    for (index_t i = 0; i < block.rows(); ++i) {
      for (index_t j = 0; j < block.cols(); ++j) {
        columns.push_back(partition.first_row(b) + j);
        values.push_back(block(i, j));
      }
      rows.push_back(static_cast<offset_t>(columns.size()));
    }
  }
  std::vector<T> r(static_cast<std::size_t>(n), T(1)), z(r.size());
  const CsrView<T, offset_t> matrix{n, n, rows.back(), rows.data(), columns.data(), values.data()};
  std::free(std::malloc(1));
  ASSERT_GT(allocations, 0) << "malloc is not counted";
  std::vector<T> singular = values;
  std::fill_n(singular.begin() + 1, 64, T(0));  // the second block
  const std::pair<Storage, SingularPolicy> variants[] = {{Storage::full, SingularPolicy::fail},
                                                         {Storage::full, SingularPolicy::shift},
                                                         {Storage::fp16, SingularPolicy::pseudo_inverse},
                                                         {Storage::adaptive, SingularPolicy::fail}};
  for (const auto& [storage, policy] : variants) {
    BlockJacobi<T> preconditioner(Backend::host(1), matrix, partition, {policy, storage});
    allocations = 0;
    preconditioner.refresh(singular.data(), matrix.nnz, MemorySpace::host);
    EXPECT_EQ(allocations, 0) << "refresh, " << to_string(storage) << ", " << to_string(policy);
    allocations = 0;
    preconditioner.apply(r, z);
    EXPECT_EQ(allocations, 0) << "apply, " << to_string(storage);
    const MultiVectorView<T> in{r.data(), n, 1, n, Layout::column_major, MemorySpace::host};
    const MultiVectorView<T> out{z.data(), n, 1, n, Layout::column_major, MemorySpace::host};
    allocations = 0;
    preconditioner.apply(T(2), in, T(1), out);
    EXPECT_EQ(allocations, 0) << "apply with alpha and beta, " << to_string(storage);
  }
}

TYPED_TEST(HostAllocation, BatchedFunctionsAllocateNothing) {
  using T = TypeParam;
  for (const index_t n : {1, 8, 32, 33, 100, 200, 512}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<T> a(size * size, T(1)), x(size * size), b(size);
    for (std::size_t i = 0; i < size; ++i) a[i * (size + 1)] = T(static_cast<real_t<T>>(2 * n));
    std::vector<index_t> ipiv(size);
    const Backend backend = Backend::host(1);
    const std::vector<T> original = a;
    // OpenMP allocates in the first parallel region of a process.
    run_batched<T>(backend, n, a, x, b, ipiv);
    a = original;
    allocations = 0;
    run_batched<T>(backend, n, a, x, b, ipiv);
    EXPECT_EQ(allocations, 0) << "order " << n;
  }
}

}  // namespace
}  // namespace blockjacobi::test

#endif
