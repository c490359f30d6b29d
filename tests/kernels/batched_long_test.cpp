#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>

#include <cuda_runtime_api.h>

namespace blockjacobi::test {
namespace {

class BatchedLongTest : public DeviceTest {};

constexpr std::size_t period = 1021;  // prime, so that equal matrices meet every place in a thread block

/// `period` random Hermitian matrices with a dominant diagonal, again and again up to `count`.
template <Scalar T>
Array<T> periodic_batch(const Backend& backend, index_t n, std::size_t count) {
  const auto order = static_cast<std::size_t>(n), size = order * order;
  std::vector<T> once = random_vector<T>(period * size, 71);
  for (std::size_t k = 0; k < period; ++k)
    for (std::size_t j = 0; j < order; ++j) {
      T* const a = once.data() + k * size;
      a[j * order + j] = T(static_cast<real_t<T>>(2 * n + static_cast<index_t>(k % 7)));
      for (std::size_t i = 0; i < j; ++i) a[j * order + i] = a[i * order + j];
    }
  Array<T> batch(backend, count * size);
  std::size_t filled = std::min(once.size(), batch.size());
  EXPECT_EQ(cudaMemcpy(batch.data(), once.data(), filled * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  while (filled < batch.size()) {
    const std::size_t more = std::min(filled, batch.size() - filled);
    EXPECT_EQ(cudaMemcpy(batch.data() + filled, batch.data(), more * sizeof(T), cudaMemcpyDeviceToDevice), cudaSuccess);
    filled += more;
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return batch;
}

template <class V>
std::vector<V> download(const V* device, std::size_t size) {
  std::vector<V> host(size);
  EXPECT_EQ(cudaMemcpy(host.data(), device, size * sizeof(V), cudaMemcpyDeviceToHost), cudaSuccess);
  return host;
}

template <Scalar T>
struct Outputs {
  Array<T> matrices;
  Array<index_t> ipiv;
  Array<int> info;
  Array<T> tau;
};

template <Scalar T, class Operation>
Outputs<T> outputs_of(const Backend& backend, Operation operation, index_t n, std::size_t count) {
  const std::size_t vectors = count * static_cast<std::size_t>(n);
  Outputs<T> out{periodic_batch<T>(backend, n, count), Array<index_t>(backend, vectors), Array<int>(backend, count),
                 Array<T>(backend, vectors)};
  out.ipiv.zero();
  out.info.zero();
  out.tau.zero();
  operation(MatrixBatchView<T>::strided(out.matrices.data(), n, n, n, static_cast<offset_t>(n) * n,
                                        static_cast<offset_t>(count), MemorySpace::device),
            out);
  backend.synchronize();
  return out;
}

/// Equal matrices have equal results, wherever they stand in the batch.
template <Scalar T, class Operation>
void expect_periodic(const Backend& backend, const char* name, Operation operation, index_t n, std::size_t count) {
  SCOPED_TRACE(::testing::Message() << name << ", " << count << " matrices of order " << n);
  const auto order = static_cast<std::size_t>(n), size = order * order;
  const Outputs<T> once = outputs_of<T>(backend, operation, n, period),
                   all = outputs_of<T>(backend, operation, n, count);
  const auto matrices = once.matrices.to_host();
  const auto ipiv = once.ipiv.to_host();
  const auto info = once.info.to_host();
  const auto tau = once.tau.to_host();
  EXPECT_FALSE(same_bits(matrices, periodic_batch<T>(backend, n, period).to_host()));
  const std::size_t last = count / period;  // the last one is a part
  for (const std::size_t repeat : {std::size_t{1}, 65536 / period, last / 2, last - 1, last}) {
    const std::size_t first = repeat * period, here = std::min(period, count - first);
    const auto equal = [&](const auto& expected, const auto* device, std::size_t each) {
      const auto found = download(device + first * each, here * each);
      return same_bits(found, std::decay_t<decltype(expected)>(expected.begin(), expected.begin() + std::ssize(found)));
    };
    EXPECT_TRUE(equal(matrices, all.matrices.data(), size)) << "repeat " << repeat;
    EXPECT_TRUE(equal(ipiv, all.ipiv.data(), order)) << "repeat " << repeat;
    EXPECT_TRUE(equal(info, all.info.data(), 1)) << "repeat " << repeat;
    EXPECT_TRUE(equal(tau, all.tau.data(), order)) << "repeat " << repeat;
  }
}

template <Scalar T>
void expect_periodic_operations(index_t n, std::size_t count) {
  using batched::Triangle;
  const Backend backend = Backend::cuda();
  expect_periodic<T>(
      backend, "inverse", [&](auto a, auto& out) { batched::inverse<T>(backend, a, a, out.info.data()); }, n, count);
  expect_periodic<T>(
      backend, "getrf", [&](auto a, auto& out) { batched::getrf<T>(backend, a, out.ipiv.data(), out.info.data()); }, n,
      count);
  expect_periodic<T>(
      backend, "potrf", [&](auto a, auto& out) { batched::potrf<T>(backend, Triangle::upper, a, out.info.data()); }, n,
      count);
  expect_periodic<T>(
      backend, "geqrf", [&](auto a, auto& out) { batched::geqrf<T>(backend, a, out.tau.data()); }, n, count);
}

TEST_F(BatchedLongTest, MoreThanAMillionMatrices) {
  constexpr std::size_t count = (1 << 20) + 1;
  for (const index_t n : {3, 8, 11, 16}) expect_periodic_operations<double>(n, count);
  expect_periodic_operations<std::complex<float>>(7, count);
}

TEST_F(BatchedLongTest, ElementsBeyond32BitIndices) {
  expect_periodic_operations<float>(4, (std::size_t{1} << 27) + 5);
  expect_periodic_operations<float>(12, (std::size_t{1} << 31) / 144 + 77);
  expect_periodic_operations<float>(32, (std::size_t{1} << 21) + 3);
}

}  // namespace
}  // namespace blockjacobi::test
