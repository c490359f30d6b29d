#include "tests/kernels/support.hpp"

#include <blockjacobi/batched.hpp>

#include <cuda_runtime_api.h>

namespace blockjacobi::test {
namespace {

class BatchedLongTest : public DeviceTest {};

/// Of the batch, prime, so that equal matrices meet every place in a thread block; of large matrices, which have one to
/// themselves, a few will do.
constexpr std::size_t period_of(index_t n) { return n <= 64 ? 1021 : 13; }

/// `once` again and again up to `size` elements.
template <Scalar T>
Array<T> repeated(const Backend& backend, const std::vector<T>& once, std::size_t size) {
  Array<T> all(backend, size);
  std::size_t filled = std::min(once.size(), size);
  EXPECT_EQ(cudaMemcpy(all.data(), once.data(), filled * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  while (filled < size) {
    const std::size_t more = std::min(filled, size - filled);
    EXPECT_EQ(cudaMemcpy(all.data() + filled, all.data(), more * sizeof(T), cudaMemcpyDeviceToDevice), cudaSuccess);
    filled += more;
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return all;
}

/// Random Hermitian matrices with a dominant diagonal, a period of them again and again up to `count`.
template <Scalar T>
Array<T> periodic_batch(const Backend& backend, index_t n, std::size_t count) {
  const auto order = static_cast<std::size_t>(n), size = order * order, period = period_of(n);
  std::vector<T> once = random_vector<T>(period * size, 71);
  for (std::size_t k = 0; k < period; ++k)
    for (std::size_t j = 0; j < order; ++j) {
      T* const a = once.data() + k * size;
      a[j * order + j] = T(static_cast<real_t<T>>(2 * n + static_cast<index_t>(k % 7)));
      for (std::size_t i = 0; i < j; ++i) a[j * order + i] = a[i * order + j];
    }
  return repeated(backend, once, count * size);
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
  Array<T> vectors;  ///< one a matrix: tau, or a right-hand side
};

template <Scalar T, class Operation>
Outputs<T> outputs_of(const Backend& backend, Operation operation, index_t n, std::size_t count) {
  const auto order = static_cast<std::size_t>(n), size = count * order;
  Outputs<T> out{periodic_batch<T>(backend, n, count), Array<index_t>(backend, size), Array<int>(backend, count),
                 repeated(backend, random_vector<T>(period_of(n) * order, 72), size)};
  out.ipiv.zero();
  out.info.zero();
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
  const auto order = static_cast<std::size_t>(n), size = order * order, period = period_of(n);
  // why not one period: a few large matrices are inverted by clusters of thread blocks, with other rounding errors
  const Outputs<T> few = outputs_of<T>(backend, operation, n, std::min(8 * period, count)),
                   all = outputs_of<T>(backend, operation, n, count);
  const auto first_period = [&](const auto& values, std::size_t each) {
    auto found = values.to_host();
    found.resize(period * each);
    return found;
  };
  const auto matrices = first_period(few.matrices, size);
  const auto ipiv = first_period(few.ipiv, order);
  const auto info = first_period(few.info, 1);
  const auto vectors = first_period(few.vectors, order);
  EXPECT_FALSE(same_bits(matrices, periodic_batch<T>(backend, n, period).to_host()));
  const std::size_t last = count / period;  // the last one is a part
  for (const std::size_t repeat : {std::size_t{1}, std::min(65536 / period, last), last / 2, last - 1, last}) {
    const std::size_t first = repeat * period, here = std::min(period, count - first);
    const auto equal = [&](const auto& expected, const auto* device, std::size_t each) {
      const auto found = download(device + first * each, here * each);
      return same_bits(found, std::decay_t<decltype(expected)>(expected.begin(), expected.begin() + std::ssize(found)));
    };
    EXPECT_TRUE(equal(matrices, all.matrices.data(), size)) << "repeat " << repeat;
    EXPECT_TRUE(equal(ipiv, all.ipiv.data(), order)) << "repeat " << repeat;
    EXPECT_TRUE(equal(info, all.info.data(), 1)) << "repeat " << repeat;
    EXPECT_TRUE(equal(vectors, all.vectors.data(), order)) << "repeat " << repeat;
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
      backend, "geqrf", [&](auto a, auto& out) { batched::geqrf<T>(backend, a, out.vectors.data()); }, n, count);
}

template <Scalar T>
void expect_periodic_solves(index_t n, std::size_t count) {
  using batched::Op, batched::SpdStorage, batched::Triangle;
  const Backend backend = Backend::cuda();
  const auto right = [](const auto& a, auto& out) {
    return MatrixBatchView<T>::strided(out.vectors.data(), a.rows, 1, a.rows, a.rows, a.count, a.space);
  };
  expect_periodic<T>(
      backend, "spd_inverse",
      [&](auto a, auto& out) {
        batched::spd_inverse<T>(backend, Triangle::lower, a, a, SpdStorage::full, out.info.data());
      },
      n, count);
  expect_periodic<T>(
      backend, "getri",
      [&](auto a, auto& out) {
        batched::getrf<T>(backend, a, out.ipiv.data(), out.info.data());
        batched::getri<T>(backend, a, out.ipiv.data(), a, out.info.data());
      },
      n, count);
  expect_periodic<T>(
      backend, "getrs",
      [&](auto a, auto& out) {
        batched::getrf<T>(backend, a, out.ipiv.data(), out.info.data());
        batched::getrs<T>(backend, Op::none, a, out.ipiv.data(), right(a, out));
      },
      n, count);
  expect_periodic<T>(
      backend, "potrs",
      [&](auto a, auto& out) {
        batched::potrf<T>(backend, Triangle::lower, a, out.info.data());
        batched::potrs<T>(backend, Triangle::lower, a, right(a, out));
      },
      n, count);
}

TEST_F(BatchedLongTest, MoreThanAMillionMatrices) {
  constexpr std::size_t count = (1 << 20) + 1;
  for (const index_t n : {3, 8, 11, 16}) expect_periodic_operations<double>(n, count);
  expect_periodic_operations<std::complex<float>>(7, count);
}

TEST_F(BatchedLongTest, MoreThanAMillionSystems) {
  constexpr std::size_t count = (1 << 20) + 1;
  for (const index_t n : {2, 3, 8}) expect_periodic_solves<double>(n, count);
  expect_periodic_solves<std::complex<float>>(7, count);
}

TEST_F(BatchedLongTest, ElementsBeyond32BitIndices) {
  expect_periodic_operations<float>(4, (std::size_t{1} << 27) + 5);
  expect_periodic_operations<float>(12, (std::size_t{1} << 31) / 144 + 77);
  expect_periodic_operations<float>(32, (std::size_t{1} << 21) + 3);
}

/// More than a grid's y or z could count, a thread block each.
TEST_F(BatchedLongTest, ThreadBlocksForManyMatrices) {
  expect_periodic_operations<double>(33, 70000);
  expect_periodic_solves<double>(33, 70000);
}

TEST_F(BatchedLongTest, ElementsOfLargeMatricesBeyond32BitIndices) {
  constexpr index_t n = 512;
  constexpr std::size_t count = 8200;
  static_assert(count * n * n > std::size_t{1} << 31);
  std::size_t available = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&available, &total), cudaSuccess);
  if (available < 2 * count * n * n * sizeof(float)) GTEST_SKIP() << available << " bytes of device memory";
  expect_periodic_operations<float>(n, count);
}

}  // namespace
}  // namespace blockjacobi::test
