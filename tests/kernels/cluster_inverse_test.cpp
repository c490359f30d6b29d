#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::test {
namespace {

template <class T>
class ClusterInverseTest : public TypedDeviceTest<T> {};
using RealScalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ClusterInverseTest, RealScalars);

/// The inverse of the first of `count` equal matrices.
template <Scalar T>
std::vector<T> first_inverse(const Backend& backend, const std::vector<T>& a, index_t n, std::size_t count) {
  std::vector<T> all;
  for (std::size_t k = 0; k < count; ++k) all.insert(all.end(), a.begin(), a.end());
  Array<T> batch(backend, all);
  Array<int> info(backend, count);
  const auto view = MatrixBatchView<T>::strided(batch.data(), n, n, n, static_cast<offset_t>(n) * n,
                                                static_cast<offset_t>(count), MemorySpace::device);
  batched::inverse<T>(backend, view, view, info.data());
  EXPECT_EQ(info.to_host(), std::vector<int>(count));
  std::vector<T> inverses = batch.to_host();
  inverses.resize(a.size());
  return inverses;
}

/// Matrices of few have a cluster of thread blocks each, which adds up in another order than the one thread block that
/// has each of many: that the bits differ shows that the cluster ran, that they differ by rounding alone that it is
/// right.
TYPED_TEST(ClusterInverseTest, FewLargeMatricesHaveOneEach) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  for (const index_t n : {160, 512}) {
    SCOPED_TRACE(n);
    const auto order = static_cast<std::size_t>(n);
    std::vector<T> a = random_vector<T>(order * order, 131);
    for (std::size_t i = 0; i < order; ++i) a[i * order + i] += T(static_cast<real_t<T>>(2 * n));
    const auto few = first_inverse(backend, a, n, 2), many = first_inverse(backend, a, n, 65);
    if (is_sm_90()) {
      EXPECT_FALSE(same_bits(few, many));
    }
    // ||A|| <= 3 N, ||A^-1|| <= 1 / N: cond <= 3, and two backward errors of 10 N eps ||A||
    EXPECT_LE(relative_difference(few, many), 2 * 10 * 3 * 3 * n * epsilon<T>);
  }
}

}  // namespace
}  // namespace blockjacobi::test
