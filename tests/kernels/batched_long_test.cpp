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

/// A period of random symmetric matrices with a dominant diagonal: A = 2 N (I + E), ||E|| <= sqrt(2) / 2, hence
/// cond(A) <= 6.
template <Scalar T>
std::vector<T> period_of_matrices(index_t n) {
  const auto order = static_cast<std::size_t>(n), size = order * order, period = period_of(n);
  std::vector<T> once = random_vector<T>(period * size, 71);
  for (std::size_t k = 0; k < period; ++k)
    for (std::size_t j = 0; j < order; ++j) {
      T* const a = once.data() + k * size;
      a[j * order + j] = T(static_cast<real_t<T>>(2 * n + static_cast<index_t>(k % 7)));
      for (std::size_t i = 0; i < j; ++i) a[j * order + i] = a[i * order + j];
    }
  return once;
}

/// A period of right-hand sides.
template <Scalar T>
std::vector<T> period_of_vectors(index_t n) {
  return random_vector<T>(period_of(n) * static_cast<std::size_t>(n), 72);
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
  // of the host one period alone, which fits
  const bool is_host = backend.kind() == BackendKind::host;
  Outputs<T> out{
      is_host ? Array<T>(backend, period_of_matrices<T>(n)) : repeated(backend, period_of_matrices<T>(n), size * order),
      Array<index_t>(backend, size), Array<int>(backend, count),
      is_host ? Array<T>(backend, period_of_vectors<T>(n)) : repeated(backend, period_of_vectors<T>(n), size)};
  out.ipiv.zero();
  out.info.zero();
  operation(backend,
            MatrixBatchView<T>::strided(out.matrices.data(), n, n, n, static_cast<offset_t>(n) * n,
                                        static_cast<offset_t>(count), backend.memory_space()),
            out);
  backend.synchronize();
  return out;
}

/// Equal matrices have equal results, wherever they stand in the batch, and those of the first period are the host's.
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
  EXPECT_FALSE(same_bits(matrices, period_of_matrices<T>(n)));
  const Outputs<T> of_host = outputs_of<T>(Backend::host(), operation, n, period);
  // Of two results with backward errors of 10 N eps ||A||: 20 N eps cond(A) in norm, cond(A) times that beside the
  // largest element.
  const double bound = 720 * n * epsilon<T>;
  EXPECT_LE(relative_difference(matrices, of_host.matrices.to_host()), bound);
  EXPECT_LE(relative_difference(vectors, of_host.vectors.to_host()), bound);
  EXPECT_EQ(ipiv, of_host.ipiv.to_host());
  EXPECT_EQ(info, of_host.info.to_host());
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
      backend, "inverse", [&](const Backend& on, auto a, auto& out) { batched::inverse<T>(on, a, a, out.info.data()); },
      n, count);
  expect_periodic<T>(
      backend, "getrf",
      [&](const Backend& on, auto a, auto& out) { batched::getrf<T>(on, a, out.ipiv.data(), out.info.data()); }, n,
      count);
  expect_periodic<T>(
      backend, "potrf",
      [&](const Backend& on, auto a, auto& out) { batched::potrf<T>(on, Triangle::upper, a, out.info.data()); }, n,
      count);
  expect_periodic<T>(
      backend, "geqrf", [&](const Backend& on, auto a, auto& out) { batched::geqrf<T>(on, a, out.vectors.data()); }, n,
      count);
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
      [&](const Backend& on, auto a, auto& out) {
        batched::spd_inverse<T>(on, Triangle::lower, a, a, SpdStorage::full, out.info.data());
      },
      n, count);
  expect_periodic<T>(
      backend, "getri",
      [&](const Backend& on, auto a, auto& out) {
        batched::getrf<T>(on, a, out.ipiv.data(), out.info.data());
        batched::getri<T>(on, a, out.ipiv.data(), a, out.info.data());
      },
      n, count);
  expect_periodic<T>(
      backend, "getrs",
      [&](const Backend& on, auto a, auto& out) {
        batched::getrf<T>(on, a, out.ipiv.data(), out.info.data());
        batched::getrs<T>(on, Op::none, a, out.ipiv.data(), right(a, out));
      },
      n, count);
  expect_periodic<T>(
      backend, "potrs",
      [&](const Backend& on, auto a, auto& out) {
        batched::potrf<T>(on, Triangle::lower, a, out.info.data());
        batched::potrs<T>(on, Triangle::lower, a, right(a, out));
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
