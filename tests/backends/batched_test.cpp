#include "support/batch.hpp"

#include "backend/backend_impl.hpp"

namespace blockjacobi::test {
namespace {

using batched::Op;
using batched::SpdStorage;
using batched::Triangle;

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

/// What needs memory rather than a scalar: 8 GB of address space, of which the host touches two pages.
template <class Case>
class BatchedFarApartOnBackend : public BackendTest<Case> {};
using FloatCases = ::testing::Types<BackendCase<float>>;
TYPED_TEST_SUITE(BatchedFarApartOnBackend, FloatCases, BackendCaseName);

/// Batches of 2 x 2 matrices [d 1; 1 d] with d = 2, 3, 4, ...; all functions on each.
template <Scalar T>
class TwoByTwo {
  using R = real_t<T>;

 public:
  TwoByTwo(const Backend& backend, offset_t count)
      : backend_(backend),
        count_(count),
        a_(backend, 4 * size()),
        x_(backend, 4 * size()),
        b_(backend, 2 * size()),
        ipiv_(backend, 2 * size()),
        info_(backend, size()) {
    std::vector<T> a, b;
    for (offset_t k = 0; k < count; ++k) {
      a.insert(a.end(), {d(k), T(1), T(1), d(k)});
      b.insert(b.end(), {d(k) + T(1), d(k) + T(1)});
    }
    a_.copy_from_host(a.data());
    b_.copy_from_host(b.data());
  }

  void run() {
    batched::inverse(backend_, square(a_), square(x_), info_.data());
    expect_inverse(x_.to_host());
    batched::spd_inverse(backend_, Triangle::lower, square(a_), square(x_), SpdStorage::full, info_.data());
    expect_inverse(x_.to_host());
    batched::pseudo_inverse(backend_, square(a_), square(x_), 0, info_.data());
    expect_inverse(x_.to_host());
    EXPECT_EQ(info_.to_host(), std::vector<int>(size(), 2));

    copy_a();
    batched::potrf(backend_, Triangle::upper, square(x_), info_.data());
    batched::potrs(backend_, Triangle::upper, square(x_), right());
    batched::potri(backend_, Triangle::upper, square(x_), info_.data());
    expect_solution(T(1));
    copy_a();
    batched::getrf(backend_, square(x_), ipiv_.data(), info_.data());
    batched::getrs(backend_, Op::none, square(x_), ipiv_.data(), right());
    batched::getri(backend_, square(x_), ipiv_.data(), square(x_), info_.data());
    expect_inverse(x_.to_host());
    copy_a();
    batched::geqrf(backend_, square(x_), b_.data());
    const auto qr = x_.to_host();
    for (std::size_t k = 0; k < size(); ++k)
      ASSERT_LE(std::abs(std::abs(qr[4 * k]) - std::hypot(R(1), std::abs(d(static_cast<offset_t>(k))))),
                8 * eps * std::abs(qr[4 * k]))
          << "matrix " << k;
  }

 private:
  static constexpr R eps = std::numeric_limits<R>::epsilon();

  std::size_t size() const { return static_cast<std::size_t>(count_); }
  static T d(offset_t k) { return T(static_cast<R>(2 + k % 1000)); }
  MatrixBatchView<T> square(const Array<T>& array) const {
    return MatrixBatchView<T>::strided(array.data(), 2, 2, 2, 4, count_, backend_.memory_space());
  }
  MatrixBatchView<T> right() const {
    return MatrixBatchView<T>::strided(b_.data(), 2, 1, 2, 2, count_, backend_.memory_space());
  }
  void copy_a() { backend_.impl().copy(x_.data(), a_.data(), a_.bytes()); }

  void expect_inverse(const std::vector<T>& x) const {
    ASSERT_EQ(x.size(), 4 * size());
    for (offset_t k = 0; k < count_; ++k) {
      const T scale = T(1) / (d(k) * d(k) - T(1));
      const T expected[] = {d(k) * scale, -scale, -scale, d(k) * scale};
      for (std::size_t i = 0; i < 4; ++i)
        ASSERT_LE(std::abs(x[4 * static_cast<std::size_t>(k) + i] - expected[i]), 16 * eps * std::abs(expected[0]))
            << "matrix " << k << " of " << count_;
    }
  }

  /// b = A [1; 1].
  void expect_solution(T value) {
    for (const T x : b_.to_host()) ASSERT_LE(std::abs(x - value), 16 * eps);
    std::vector<T> b;
    for (offset_t k = 0; k < count_; ++k) b.insert(b.end(), {d(k) + T(1), d(k) + T(1)});
    b_.copy_from_host(b.data());
  }

  Backend backend_;
  offset_t count_;
  Array<T> a_, x_, b_;
  Array<index_t> ipiv_;
  Array<int> info_;
};

TYPED_TEST(BatchedOnBackend, BatchesAroundSixtyFiveThousand) {
  for (const offset_t count : {65535, 65536, 65537})
    TwoByTwo<typename TypeParam::Scalar>(this->make_backend(), count).run();
}

TYPED_TEST(BatchedOnBackend, BatchesOfOneAndNone) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  TwoByTwo<T>(backend, 0).run();
  TwoByTwo<T>(backend, 1).run();
  // Nothing to compute: null pointers are fine, info of matrices of order 0 is not.
  MatrixBatchView<T> none{.rows = 4, .cols = 4, .space = backend.memory_space()};
  EXPECT_NO_THROW(batched::inverse(backend, none, none, nullptr));
  EXPECT_NO_THROW(batched::getrf(backend, none, nullptr, nullptr));
  EXPECT_NO_THROW(batched::geqrf(backend, none, nullptr));
  MatrixBatchView<T> empty{.count = 3, .space = backend.memory_space()};
  Array<int> info(backend, std::vector<int>{7, 7, 7});
  batched::getrf(backend, empty, nullptr, info.data());
  EXPECT_EQ(info.to_host(), std::vector<int>(3, 0));
  info.copy_from_host(std::vector<int>{7, 7, 7}.data());
  batched::inverse(backend, empty, empty, info.data());
  EXPECT_EQ(info.to_host(), std::vector<int>(3, 0));
  info.copy_from_host(std::vector<int>{7, 7, 7}.data());
  batched::spd_inverse(backend, Triangle::lower, empty, empty, SpdStorage::full, info.data());
  EXPECT_EQ(info.to_host(), std::vector<int>(3, 0));
  info.copy_from_host(std::vector<int>{7, 7, 7}.data());
  batched::pseudo_inverse(backend, empty, empty, 0, info.data());
  EXPECT_EQ(info.to_host(), std::vector<int>(3, 0));
}

/// The second matrix lies 2^31 + 16 elements behind the first.
TYPED_TEST(BatchedFarApartOnBackend, OffsetsPastTwoToTheThirtyOne) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const offset_t stride = (offset_t{1} << 31) + 16;
  const Array<T> storage(backend, static_cast<std::size_t>(stride + 16));
  const auto view = MatrixBatchView<T>::strided(storage.data(), 4, 4, 4, stride, 2, backend.memory_space());
  Random random(401);
  const Dense<T> a[] = {random_dense<T>(4, random), random_dense<T>(4, random)};
  for (int k = 0; k < 2; ++k) backend.impl().copy_from_host(storage.data() + k * stride, a[k].data(), 16 * sizeof(T));
  Array<int> info(backend, 2);
  batched::inverse(backend, view, view, info.data());
  for (int k = 0; k < 2; ++k) {
    Dense<T> x(4, 4);
    backend.impl().copy_to_host(x.data(), storage.data() + k * stride, 16 * sizeof(T));
    EXPECT_LE(inverse_error<T>(a[k], x), 10.0);
  }
}

TYPED_TEST(BatchedOnBackend, OrderZeroNeedsNoRightHandSide) {
  using T = typename TypeParam::Scalar;
  const Backend backend = this->make_backend();
  const MemorySpace space = backend.memory_space();
  const Array<T> a(backend, std::vector<T>{T(2)});
  Array<T> b(backend, std::vector<T>{T(6)});
  const Array<index_t> orders(backend, std::vector<index_t>{1, 0}), ipiv(backend, std::vector<index_t>{1, 1});
  const Array<const T*> matrices(backend, std::vector<const T*>{a.data(), nullptr});
  const Array<T*> sides(backend, std::vector<T*>{b.data(), nullptr});
  const auto lu = MatrixBatchView<const T>::pointer_array(matrices.data(), 1, 1, 1, 2, space, orders.data());
  batched::getrs(backend, Op::none, lu, ipiv.data(),
                 MatrixBatchView<T>::pointer_array(sides.data(), 1, 1, 1, 2, space));
  EXPECT_EQ(b.to_host(), std::vector<T>{T(3)});
}

}  // namespace
}  // namespace blockjacobi::test
