#include "support/sanitized.hpp"
#include "unit/backend/run_batched.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

// The sanitizers put gaps between variables.
#if defined(__linux__) && !defined(BLOCKJACOBI_TEST_ADDRESS_SANITIZER)

#include <pthread.h>

namespace blockjacobi::test {
namespace {

/// Bytes of stack that work() uses on a thread of its own; its stack is filled before and looked at afterwards.
template <class Work>
std::size_t stack_of(Work work) {
  constexpr std::size_t size = 4 << 20;
  constexpr unsigned char fill = 0xA5;
  static unsigned char* const stack = static_cast<unsigned char*>(std::aligned_alloc(4096, size));
  std::memset(stack, fill, size);
  pthread_attr_t attributes;
  EXPECT_EQ(pthread_attr_init(&attributes), 0);
  EXPECT_EQ(pthread_attr_setstack(&attributes, stack, size), 0);
  pthread_t thread;
  const auto call = [](void* argument) -> void* {
    (*static_cast<Work*>(argument))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, &attributes, call, &work), 0);
  EXPECT_EQ(pthread_join(thread, nullptr), 0);
  EXPECT_EQ(pthread_attr_destroy(&attributes), 0);
  // Stacks grow downwards.
  return static_cast<std::size_t>(stack + size -
                                  std::find_if(stack, stack + size, [](unsigned char b) { return b != fill; }));
}

template <class T>
class HostStack : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(HostStack, Scalars);

/// Half of the 512 KB that the smallest stacks of threads have on common systems.
TYPED_TEST(HostStack, BatchedFunctionsNeedLittle) {
  using T = TypeParam;
  for (const index_t n : {32, 128, 512}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<T> a(size * size, T(1)), x(size * size), b(size);
    for (std::size_t i = 0; i < size; ++i) a[i * (size + 1)] = T(static_cast<real_t<T>>(2 * n));
    std::vector<index_t> ipiv(size);
    const Backend backend = Backend::host(1);
    const std::size_t nothing = stack_of([] {});
    const std::size_t used = stack_of([&] { run_batched<T>(backend, n, a, x, b, ipiv); });
    ASSERT_GT(used, nothing);
    EXPECT_LE(used - nothing, std::size_t{256} << 10) << "order " << n;
  }
}

TYPED_TEST(HostStack, PreconditionerNeedsLittle) {
  using T = TypeParam;
  constexpr index_t n = 128;  // the arrays on the stack are as large as for 512
  std::vector<offset_t> rows{0};
  std::vector<index_t> columns;
  for (index_t i = 0; i < n; ++i) {
    for (index_t j = 0; j < n; ++j) columns.push_back(j);
    rows.push_back(static_cast<offset_t>(columns.size()));
  }
  const std::vector<T> values(columns.size(), T(1));  // singular
  const CsrView<T> matrix{n, n, rows.back(), rows.data(), columns.data(), values.data()};
  std::vector<T> r(4 * static_cast<std::size_t>(n), T(1)), z(r.size());
  const MultiVectorView<T> in{r.data(), n, 4, n}, out{z.data(), n, 4, n};
  for (const SingularPolicy policy : {SingularPolicy::shift, SingularPolicy::pseudo_inverse}) {
    BlockJacobi<T> m(Backend::host(1), matrix, BlockPartition::uniform(n, n), {policy, Storage::fp16});
    const std::size_t nothing = stack_of([] {});
    const std::size_t used = stack_of([&] {
      m.refresh(values.data(), matrix.nnz, MemorySpace::host);
      m.apply(in, out);
    });
    ASSERT_GT(used, nothing);
    EXPECT_LE(used - nothing, std::size_t{256} << 10) << to_string(policy);
  }
}

}  // namespace
}  // namespace blockjacobi::test

#endif
