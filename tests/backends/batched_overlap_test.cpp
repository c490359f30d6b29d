#include "support/batch.hpp"
#include "support/messages.hpp"

#include <algorithm>
#include <iterator>

namespace blockjacobi::test {
namespace {

using batched::Op;

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

TYPED_TEST(BatchedOnBackend, OperandsMayInterleave) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  Random random(402);
  std::vector<Dense<T>> a;
  std::vector<T> host;
  for (int k = 0; k < 3; ++k) {
    a.push_back(random_dense<T>(3, random));
    host.insert(host.end(), a.back().data(), a.back().data() + 9);
    host.insert(host.end(), 9, T(0));
  }
  const Array<T> storage(backend, host);
  Array<int> info(backend, 3);
  const auto space = backend.memory_space();
  batched::inverse(backend, MatrixBatchView<T>::strided(storage.data(), 3, 3, 3, 18, 3, space),
                   MatrixBatchView<T>::strided(storage.data() + 9, 3, 3, 3, 18, 3, space), info.data());
  host = storage.to_host();
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_LE(inverse_error<T>(a[k], Eigen::Map<const Dense<T>>(host.data() + 18 * k + 9, 3, 3)), 10.0);
    EXPECT_EQ(Dense<T>(Eigen::Map<const Dense<T>>(host.data() + 18 * k, 3, 3)), a[k]);
  }
}

/// x below A in one array, with the leading dimension of both.
TYPED_TEST(BatchedOnBackend, OperandsMayInterleaveByRows) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto space = backend.memory_space();
  Random random(403);
  for (const index_t n : {1, 3, 8, 20}) {
    const index_t ld = 2 * n, stride = ld * n;
    std::vector<Dense<T>> a;
    std::vector<T> host;
    for (int k = 0; k < 3; ++k) {
      a.push_back(random_dense<T>(n, random));
      Dense<T> both = Dense<T>::Zero(ld, n);
      both.topRows(n) = a.back();
      host.insert(host.end(), both.data(), both.data() + both.size());
    }
    const Array<T> storage(backend, host);
    Array<int> info(backend, 3);
    Array<index_t> ipiv(backend, static_cast<std::size_t>(3 * n));
    const auto upper = MatrixBatchView<T>::strided(storage.data(), n, n, ld, stride, 3, space);
    const auto lower = MatrixBatchView<T>::strided(storage.data() + n, n, n, ld, stride, 3, space);
    batched::inverse(backend, upper, lower, info.data());
    host = storage.to_host();
    for (std::size_t k = 0; k < 3; ++k) {
      const Dense<T> both = Eigen::Map<const Dense<T>>(host.data() + k * static_cast<std::size_t>(stride), ld, n);
      EXPECT_EQ(Dense<T>(both.topRows(n)), a[k]);
      EXPECT_LE(inverse_error<T>(a[k], both.bottomRows(n)), 10.0) << "order " << n;
    }
    // A A^-1 = I for the right-hand sides that are there now.
    batched::getrf(backend, upper, ipiv.data(), info.data());
    batched::getrs(backend, Op::none, upper, ipiv.data(), lower);
    host = storage.to_host();
    for (const T value : host) EXPECT_TRUE(std::isfinite(std::abs(value)));
  }
}

/// With one column the leading dimension has no meaning.
TYPED_TEST(BatchedOnBackend, OrderOneIsInPlaceWithAnyLeadingDimension) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const auto space = backend.memory_space();
  const Array<T> storage(backend, std::vector<T>{T(2), T(4), T(8)});
  Array<int> info(backend, 3);
  const auto a = MatrixBatchView<T>::strided(storage.data(), 1, 1, 1, 1, 3, space);
  const auto x = MatrixBatchView<T>::strided(storage.data(), 1, 1, 7, 1, 3, space);
  batched::inverse(backend, a, x, info.data());
  EXPECT_EQ(storage.to_host(), (std::vector<T>{T(0.5), T(0.25), T(0.125)}));
  Array<T*> pointers(backend, std::vector<T*>{storage.data(), storage.data() + 1, storage.data() + 2});
  batched::inverse(backend, MatrixBatchView<T>::pointer_array(pointers.data(), 1, 1, 3, 3, space),
                   MatrixBatchView<T>::pointer_array(pointers.data(), 1, 1, 1, 3, space), info.data());
  EXPECT_EQ(storage.to_host(), (std::vector<T>{T(2), T(4), T(8)}));
}

/// The elements of a batch, as distances from `origin`, in the order of matrices and columns.
template <Scalar T>
std::vector<offset_t> elements_of(const MatrixBatchView<T>& a, const T* origin) {
  std::vector<offset_t> elements;
  for (offset_t k = 0; k < a.count; ++k)
    for (index_t j = 0; j < a.cols; ++j)
      for (index_t i = 0; i < a.rows; ++i) elements.push_back(a.data + k * a.stride + j * a.ld + i - origin);
  return elements;
}

/// What is accepted is disjoint or the same; what is disjoint at one stride and leading dimension is accepted.
TEST(BatchedOnHost, OverlapIsJudgedByTheElements) {
  const Backend backend = Backend::host(1);
  std::vector<double> storage(400);
  const double* const origin = storage.data();
  std::vector<int> info(3);
  long accepted = 0, cases = 0;
  for (const index_t n : {1, 2, 3})
    for (const index_t ld_a : {n, n + 1, 2 * n, 2 * n + 1})
      for (const index_t ld_x : {ld_a, ld_a + 1})
        for (const offset_t count : {1, 3})
          for (const offset_t stride_a : {ld_a * (n - 1) + n, ld_a * n, 2 * ld_a * n, 2 * ld_a * n + 1})
            for (const offset_t stride_x : {stride_a, stride_a + 1})
              for (offset_t shift = -45; shift <= 45; ++shift) {
                if (stride_x < ld_x * (n - 1) + n) continue;
                const auto a = MatrixBatchView<double>::strided(storage.data() + 60, n, n, ld_a, stride_a, count,
                                                                MemorySpace::host);
                const auto x = MatrixBatchView<double>::strided(storage.data() + 60 + shift, n, n, ld_x, stride_x,
                                                                count, MemorySpace::host);
                std::vector<offset_t> of_a = elements_of(a, origin), of_x = elements_of(x, origin);
                const bool same = of_a == of_x;
                std::sort(of_a.begin(), of_a.end());
                std::sort(of_x.begin(), of_x.end());
                std::vector<offset_t> common;
                std::set_intersection(of_a.begin(), of_a.end(), of_x.begin(), of_x.end(), std::back_inserter(common));
                const bool fits =
                    message_of([&] { batched::inverse(backend, a, x, info.data()); }) == "no InvalidArgument";
                ++cases;
                accepted += fits;
                ASSERT_TRUE(!fits || same || common.empty())
                    << "order " << n << ", ld " << ld_a << " and " << ld_x << ", stride " << stride_a << " and "
                    << stride_x << ", " << count << " matrices, shifted by " << shift;
                if (common.empty() && ld_a == ld_x && stride_a == stride_x) {
                  ASSERT_TRUE(fits) << "order " << n << ", ld " << ld_a << ", stride " << stride_a << ", " << count
                                    << " matrices, shifted by " << shift;
                }
              }
  EXPECT_GT(accepted, cases / 10);
  EXPECT_LT(accepted, cases);
}

}  // namespace
}  // namespace blockjacobi::test
