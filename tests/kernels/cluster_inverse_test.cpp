#include "tests/kernels/recorded_kernels.hpp"
#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>

namespace blockjacobi::test {
namespace {

template <class T>
class ClusterInverseTest : public TypedDeviceTest<T> {};
using RealScalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ClusterInverseTest, RealScalars);

template <Scalar T>
struct FirstInverse {
  std::vector<T> elements;
  RecordedKernel kernel;  ///< what computed it
};

/// The inverse of the first of `count` equal matrices.
template <Scalar T>
FirstInverse<T> first_inverse(cudaStream_t stream, const std::vector<T>& a, index_t n, std::size_t count) {
  const Backend backend = Backend::cuda(0, stream);
  std::vector<T> all;
  for (std::size_t k = 0; k < count; ++k) all.insert(all.end(), a.begin(), a.end());
  Array<T> batch(backend, all);
  Array<int> info(backend, count);
  const auto view = MatrixBatchView<T>::strided(batch.data(), n, n, n, static_cast<offset_t>(n) * n,
                                                static_cast<offset_t>(count), MemorySpace::device);
  backend.synchronize();
  const auto invert = [&] { batched::inverse<T>(backend, view, view, info.data()); };
  const auto kernels = recorded_kernels(stream, invert);
  EXPECT_EQ(kernels.size(), 1u);
  invert();
  EXPECT_EQ(info.to_host(), std::vector<int>(count));
  std::vector<T> inverses = batch.to_host();
  inverses.resize(a.size());
  return {std::move(inverses), kernels.empty() ? RecordedKernel{} : kernels[0]};
}

/// Matrices of few have a cluster of thread blocks each, those of many a thread block: what differs is rounding alone.
TYPED_TEST(ClusterInverseTest, FewLargeMatricesHaveOneEach) {
  using T = TypeParam;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (const index_t n : {160, 512}) {
    SCOPED_TRACE(n);
    const auto order = static_cast<std::size_t>(n);
    std::vector<T> a = random_vector<T>(order * order, 131);
    for (std::size_t i = 0; i < order; ++i) a[i * order + i] += T(static_cast<real_t<T>>(2 * n));
    const auto few = first_inverse(stream, a, n, 2), many = first_inverse(stream, a, n, 65);
    if (is_sm_90()) {
      EXPECT_EQ(few.kernel.cluster > 1, may_have_clusters(few.kernel));
    }
    EXPECT_EQ(many.kernel.cluster, 1u);
    // ||A|| <= 3 N, ||A^-1|| <= 1 / N: cond <= 3, and two backward errors of 10 N eps ||A||
    EXPECT_LE(relative_difference(few.elements, many.elements), 2 * 10 * 3 * 3 * n * epsilon<T>);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace blockjacobi::test
