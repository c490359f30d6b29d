#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::test {
namespace {

template <class T>
class BatchedAlignmentTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(BatchedAlignmentTest, Scalars);

/// std::complex asks for the alignment of its parts only.
TYPED_TEST(BatchedAlignmentTest, SmallInversesOffTheAlignmentOfComplexNumbers) {
  using T = TypeParam;
  using R = real_t<T>;
  const Backend backend = Backend::cuda();
  for (const index_t n : {5, 16, 32, 33, 48}) {
    const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
    const std::vector<T> a = random_vector<T>(size, 116);
    const auto* const parts = reinterpret_cast<const R*>(a.data());
    std::vector<R> shifted(1);
    shifted.insert(shifted.end(), parts, parts + size * sizeof(T) / sizeof(R));
    const Array<T> aligned(backend, a);
    const Array<R> off(backend, shifted);
    Array<T> x(backend, size), y(backend, size);
    Array<int> info(backend, 2);
    const auto batch = [&](T* data) {
      return MatrixBatchView<T>::strided(data, n, n, n, static_cast<offset_t>(size), 1, MemorySpace::device);
    };
    batched::inverse<T>(backend, batch(aligned.data()), batch(x.data()), info.data());
    batched::inverse<T>(backend, batch(reinterpret_cast<T*>(off.data() + 1)), batch(y.data()), info.data() + 1);
    EXPECT_EQ(info.to_host(), (std::vector<int>{0, 0}));
    // Up to order 32 a batch that is not aligned has kernels of its own.
    EXPECT_LE(relative_difference(y.to_host(), x.to_host()), n > 32 ? 0 : 1000 * n * epsilon<T>) << "order " << n;
  }
}

}  // namespace
}  // namespace blockjacobi::test
