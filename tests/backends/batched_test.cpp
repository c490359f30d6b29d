#include "support/batch.hpp"
#include "support/messages.hpp"

#include "backend/backend_impl.hpp"

#include <algorithm>
#include <iterator>

namespace blockjacobi::test {
namespace {

using batched::Op;
using batched::SpdStorage;
using batched::Triangle;

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

/// What needs memory rather than a scalar: 8 GB of address space, of which the host touches two pages.
template <class Case>
class BatchedFarApartOnBackend : public BackendTest<Case> {};
#if defined(BLOCKJACOBI_TEST_CUDA)
using FloatCases = ::testing::Types<BackendCase<BackendKind::host, float>, BackendCase<BackendKind::cuda, float>>;
#else
using FloatCases = ::testing::Types<BackendCase<BackendKind::host, float>>;
#endif
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

TYPED_TEST(BatchedOnBackend, SmallBatchesOfOneAndNone) {
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

TYPED_TEST(BatchedOnBackend, SmallOperandsMayInterleave) {
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
TYPED_TEST(BatchedOnBackend, SmallOperandsMayInterleaveByRows) {
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
TYPED_TEST(BatchedOnBackend, SmallOrderOneIsInPlaceWithAnyLeadingDimension) {
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

/// One valid batch of three 4 x 4 matrices, with as much memory behind it, to be spoilt.
template <Scalar T>
struct Misuse {
  explicit Misuse(const Backend& b)
      : backend(b),
        a(b, 96),
        x(b, 48),
        right(b, 24),
        tau(b, 12),
        ipiv(b, 12),
        info(b, 3),
        view(MatrixBatchView<T>::strided(a.data(), 4, 4, 4, 16, 3, b.memory_space())),
        output(MatrixBatchView<T>::strided(x.data(), 4, 4, 4, 16, 3, b.memory_space())),
        rhs(MatrixBatchView<T>::strided(right.data(), 4, 2, 4, 8, 3, b.memory_space())) {}

  std::string getrf(const MatrixBatchView<T>& v) {
    return message_of([&] { batched::getrf(backend, v, ipiv.data(), info.data()); });
  }
  std::string inverse(const MatrixBatchView<T>& v, const MatrixBatchView<T>& w) {
    return message_of([&] { batched::inverse(backend, v, w, info.data()); });
  }
  std::string getrs(const MatrixBatchView<T>& b) {
    return message_of([&] { batched::getrs(backend, Op::none, view, ipiv.data(), b); });
  }

  Backend backend;
  Array<T> a, x, right, tau;
  Array<index_t> ipiv;
  Array<int> info;
  MatrixBatchView<T> view, output, rhs;
};

TYPED_TEST(BatchedOnBackend, SmallMisuseOfOneOperand) {
  using T = typename TypeParam::Scalar;
  Misuse<T> m(this->make_backend());
  const auto spoilt = [&](auto change) {
    MatrixBatchView<T> v = m.view;
    change(v);
    return m.getrf(v);
  };
  EXPECT_EQ(spoilt([](auto& v) { v.rows = v.cols = -1; }),
            "batched::getrf: a: 3 matrices of -1 x -1, none may be negative");
  EXPECT_EQ(spoilt([](auto& v) { v.count = -2; }), "batched::getrf: a: -2 matrices of 4 x 4, none may be negative");
  EXPECT_EQ(spoilt([](auto& v) { v.rows = v.cols = v.ld = 513; }),
            "batched::getrf: a: matrices are 513 x 513, at most 512 x 512 is supported");
  EXPECT_EQ(spoilt([](auto& v) { v.cols = 3; }), "batched::getrf: a: matrices are 4 x 3, must be square");
  EXPECT_EQ(spoilt([](auto& v) { v.ld = 3; }),
            "batched::getrf: a: leading dimension is 3, must be at least the 4 rows, or 0");
  EXPECT_EQ(spoilt([](auto& v) { v.ld = -1; }),
            "batched::getrf: a: leading dimension is -1, must be at least the 4 rows, or 0");
  EXPECT_EQ(spoilt([](auto& v) { v.stride = 15; }),
            "batched::getrf: a: stride is 15, must be at least the 16 elements that a matrix of 4 x 4 spans");
  EXPECT_EQ(spoilt([](auto& v) { v.stride = -16; }),
            "batched::getrf: a: stride is -16, must be at least the 16 elements that a matrix of 4 x 4 spans");
  EXPECT_EQ(spoilt([](auto& v) { v.ld = 5; }),
            "batched::getrf: a: stride is 16, must be at least the 19 elements that a matrix of 4 x 4 spans");
  EXPECT_EQ(spoilt([](auto& v) { v.count = offset_t{1} << 60; }),
            "batched::getrf: a: 1152921504606846976 matrices at stride 16 exceed the address space");
  EXPECT_EQ(spoilt([](auto& v) { v.data = nullptr; }), "batched::getrf: a: null pointer, 3 matrices of 4 x 4");
  T* const pointers[] = {nullptr, nullptr, nullptr};
  EXPECT_EQ(spoilt([&](auto& v) { v.pointers = pointers; }),
            "batched::getrf: a: has data and pointers, must have one of them");
  const MemorySpace other = m.view.space == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  EXPECT_EQ(spoilt([&](auto& v) { v.space = other; }),
            "batched::getrf: a: lies on the " + std::string(to_string(other)) + ", the backend (" +
                m.backend.description() + ") computes on the " + to_string(m.view.space));
  if (TypeParam::kind == BackendKind::cuda) return;
  const std::vector<index_t> orders{4, 5, 0};
  EXPECT_EQ(spoilt([&](auto& v) { v.orders = orders.data(); }),
            "batched::getrf: a: order of matrix 1 is 5, must be in 0..4");
  const std::vector<index_t> negative{4, 3, -1};
  EXPECT_EQ(spoilt([&](auto& v) { v.orders = negative.data(); }),
            "batched::getrf: a: order of matrix 2 is -1, must be in 0..4");
  const auto messages_of_orders = [&](const index_t* of_matrices) {
    MatrixBatchView<T> v = m.view;
    v.orders = of_matrices;
    int* const info = m.info.data();
    return std::vector<std::string>{
        message_of([&] { batched::potrf(m.backend, Triangle::lower, v, info); }),
        message_of([&] { batched::potri(m.backend, Triangle::lower, v, info); }),
        message_of([&] { batched::potrs(m.backend, Triangle::lower, v, m.rhs); }),
        message_of([&] { batched::spd_inverse(m.backend, Triangle::lower, v, m.output, SpdStorage::packed, info); }),
        message_of([&] { batched::getri(m.backend, v, m.ipiv.data(), m.output, info); }),
        message_of([&] { batched::getrs(m.backend, Op::none, v, m.ipiv.data(), m.rhs); }),
        message_of([&] { batched::inverse(m.backend, v, m.output, info); }),
        message_of([&] { batched::geqrf(m.backend, v, m.tau.data()); }),
        message_of([&] { batched::pseudo_inverse(m.backend, v, m.output, 0, info); })};
  };
  const auto expected = [](const std::string& what) {
    std::vector<std::string> messages;
    for (const char* const operand : {"potrf: a", "potri: a", "potrs: cholesky", "spd_inverse: a", "getri: lu",
                                      "getrs: lu", "inverse: a", "geqrf: a", "pseudo_inverse: a"})
      messages.push_back("batched::" + std::string(operand) + ": " + what);
    return messages;
  };
  EXPECT_EQ(messages_of_orders(orders.data()), expected("order of matrix 1 is 5, must be in 0..4"));
  EXPECT_EQ(messages_of_orders(negative.data()), expected("order of matrix 2 is -1, must be in 0..4"));
  EXPECT_EQ(spoilt([&](auto& v) {
              v.data = nullptr;
              v.pointers = pointers;
            }),
            "batched::getrf: a: pointer to matrix 0 is null");
}

TYPED_TEST(BatchedOnBackend, SmallMisuseOfOutputs) {
  using T = typename TypeParam::Scalar;
  Misuse<T> m(this->make_backend());
  const auto spoilt = [&](auto change) {
    MatrixBatchView<T> v = m.output;
    change(v);
    return m.inverse(m.view, v);
  };
  EXPECT_EQ(spoilt([](auto& v) { v.rows = v.cols = 3; }),
            "batched::inverse: x: has 3 matrices of 3 x 3, the input 3 of 4 x 4");
  EXPECT_EQ(spoilt([](auto& v) { v.count = 2; }), "batched::inverse: x: has 2 matrices of 4 x 4, the input 3 of 4 x 4");
  EXPECT_EQ(spoilt([](auto& v) { v.ld = 2; }),
            "batched::inverse: x: leading dimension is 2, must be at least the 4 rows, or 0");
  EXPECT_EQ(spoilt([](auto& v) { v.data = nullptr; }), "batched::inverse: x: null pointer, 3 matrices of 4 x 4");
  EXPECT_EQ(spoilt([&](auto& v) { v.orders = m.ipiv.data(); }),
            "batched::inverse: x: has orders of its own, must have none or those of the input");
  const auto bytes = [](int elements) { return std::to_string(elements * static_cast<int>(sizeof(T))); };
  EXPECT_EQ(spoilt([&](auto& v) { v.data = m.view.data + 16; }),
            "batched::inverse: x: overlaps the input in part: starts " + bytes(16) + " bytes from it and spans " +
                bytes(48) + " bytes, the input " + bytes(48));
  EXPECT_EQ(spoilt([&](auto& v) {
              v.data = m.view.data - 4;
              v.stride = 17;
            }),
            "batched::inverse: x: overlaps the input in part: starts " + bytes(-4) + " bytes from it and spans " +
                bytes(50) + " bytes, the input " + bytes(48));
  EXPECT_EQ(spoilt([&](auto& v) { v.data = m.view.data + 48; }), "no InvalidArgument") << "starts where a ends";
  EXPECT_EQ(spoilt([&](auto& v) {
              v.data = m.view.data;
              v.ld = 5;
              v.stride = 19;
            }),
            "batched::inverse: x: overlaps the input in part: starts 0 bytes from it and spans " + bytes(57) +
                " bytes, the input " + bytes(48));
  Array<T*> pointers(m.backend, std::vector<T*>{m.a.data(), m.a.data() + 16, m.a.data() + 32});
  auto in = MatrixBatchView<T>::pointer_array(pointers.data(), 4, 4, 4, 3, m.view.space), out = in;
  out.ld = 5;
  EXPECT_EQ(m.inverse(in, out),
            "batched::inverse: x: has the pointers of the input and leading dimension 5, the input 4");

  MatrixBatchView<T> packed = m.output;
  packed.stride = 9;
  const auto spd = [&] {
    return message_of(
        [&] { batched::spd_inverse(m.backend, Triangle::lower, m.view, packed, SpdStorage::packed, m.info.data()); });
  };
  EXPECT_EQ(spd(),
            "batched::spd_inverse: x: stride is 9, must be at least the 10 elements that a matrix of 4 x 4 spans");
  packed.stride = 10;
  EXPECT_EQ(spd(), "no InvalidArgument");
  packed.data = m.view.data + 1;
  EXPECT_NE(spd(), "no InvalidArgument");
}

TYPED_TEST(BatchedOnBackend, SmallOrderZeroNeedsNoRightHandSide) {
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

TYPED_TEST(BatchedOnBackend, SmallMisuseOfRightHandSidesAndArrays) {
  using T = typename TypeParam::Scalar;
  Misuse<T> m(this->make_backend());
  const auto spoilt = [&](auto change) {
    MatrixBatchView<T> b = m.rhs;
    change(b);
    return m.getrs(b);
  };
  EXPECT_EQ(spoilt([](auto& b) { b.rows = 3; }), "batched::getrs: b: has 3 matrices of 3 rows, lu has 3 of order 4");
  EXPECT_EQ(spoilt([](auto& b) { b.count = 4; }), "batched::getrs: b: has 4 matrices of 4 rows, lu has 3 of order 4");
  EXPECT_EQ(spoilt([&](auto& b) { b.orders = m.ipiv.data(); }), "batched::getrs: b: has orders, only lu may have them");
  EXPECT_EQ(spoilt([&](auto& b) { b = m.view; }), "batched::getrs: b: is the storage of lu");
  EXPECT_NE(spoilt([&](auto& b) { b.data = m.view.data + 8; }), "no InvalidArgument");
  EXPECT_EQ(spoilt([](auto& b) { b.stride = 7; }),
            "batched::getrs: b: stride is 7, must be at least the 8 elements that a matrix of 4 x 2 spans");
  MatrixBatchView<T> b = m.rhs;
  b.rows = 5;
  b.ld = 5;
  EXPECT_EQ(message_of([&] { batched::potrs(m.backend, Triangle::upper, m.view, b); }),
            "batched::potrs: b: has 3 matrices of 5 rows, cholesky has 3 of order 4");

  const Backend& backend = m.backend;
  int* const info = m.info.data();
  EXPECT_EQ(message_of([&] { batched::getrf(backend, m.view, nullptr, info); }),
            "batched::getrf: ipiv: null pointer, 12 elements");
  EXPECT_EQ(message_of([&] { batched::getrf(backend, m.view, m.ipiv.data(), nullptr); }),
            "batched::getrf: info: null pointer, 3 elements");
  EXPECT_EQ(message_of([&] { batched::getri(backend, m.view, nullptr, m.output, info); }),
            "batched::getri: ipiv: null pointer, 12 elements");
  EXPECT_EQ(message_of([&] { batched::getri(backend, m.view, m.ipiv.data(), m.output, nullptr); }),
            "batched::getri: info: null pointer, 3 elements");
  EXPECT_EQ(message_of([&] { batched::inverse(backend, m.view, m.output, nullptr); }),
            "batched::inverse: info: null pointer, 3 elements");
  EXPECT_EQ(message_of([&] { batched::getrs(backend, Op::none, m.view, nullptr, m.rhs); }),
            "batched::getrs: ipiv: null pointer, 12 elements");
  EXPECT_EQ(message_of([&] { batched::potrf(backend, Triangle::lower, m.view, nullptr); }),
            "batched::potrf: info: null pointer, 3 elements");
  EXPECT_EQ(message_of([&] { batched::potri(backend, Triangle::lower, m.view, nullptr); }),
            "batched::potri: info: null pointer, 3 elements");
  EXPECT_EQ(
      message_of([&] { batched::spd_inverse(backend, Triangle::lower, m.view, m.output, SpdStorage::full, nullptr); }),
      "batched::spd_inverse: info: null pointer, 3 elements");
  EXPECT_EQ(message_of([&] { batched::geqrf(backend, m.view, nullptr); }),
            "batched::geqrf: tau: null pointer, 12 elements");
  EXPECT_EQ(message_of([&] { batched::pseudo_inverse(backend, m.view, m.output, 0, nullptr); }),
            "batched::pseudo_inverse: rank: null pointer, 3 elements");
  EXPECT_EQ(message_of([&] { batched::getrs(backend, static_cast<Op>(3), m.view, m.ipiv.data(), m.rhs); }),
            "batched::getrs: op: is 3, must be in 0..2");
  const auto no_triangle = static_cast<Triangle>(-1);
  EXPECT_EQ(message_of([&] { batched::potrf(backend, no_triangle, m.view, info); }),
            "batched::potrf: triangle: is -1, must be in 0..1");
  EXPECT_EQ(message_of([&] { batched::potri(backend, no_triangle, m.view, info); }),
            "batched::potri: triangle: is -1, must be in 0..1");
  EXPECT_EQ(message_of([&] { batched::potrs(backend, no_triangle, m.view, m.rhs); }),
            "batched::potrs: triangle: is -1, must be in 0..1");
  EXPECT_EQ(message_of([&] { batched::spd_inverse(backend, no_triangle, m.view, m.output, SpdStorage::full, info); }),
            "batched::spd_inverse: triangle: is -1, must be in 0..1");
  EXPECT_EQ(message_of([&] {
              batched::spd_inverse(backend, Triangle::lower, m.view, m.output, static_cast<SpdStorage>(2), info);
            }),
            "batched::spd_inverse: storage: is 2, must be in 0..1");
  for (const double rtol : {1.0, std::numeric_limits<double>::infinity()})
    EXPECT_NE(message_of([&] { batched::pseudo_inverse(backend, m.view, m.output, rtol, info); }),
              "no InvalidArgument");
  EXPECT_EQ(message_of([&] { batched::pseudo_inverse(backend, m.view, m.output, std::nan(""), info); }),
            "batched::pseudo_inverse: rtol: is nan, must be below 1");
  MatrixBatchView<T> rectangle = m.view;
  rectangle.cols = 3;
  for (const std::string& message :
       {message_of([&] { batched::getri(backend, rectangle, m.ipiv.data(), rectangle, info); }),
        message_of([&] { batched::inverse(backend, rectangle, rectangle, info); }),
        message_of([&] { batched::getrs(backend, Op::none, rectangle, m.ipiv.data(), m.rhs); }),
        message_of([&] { batched::potrf(backend, Triangle::lower, rectangle, info); }),
        message_of([&] { batched::potri(backend, Triangle::lower, rectangle, info); }), message_of([&] {
          batched::spd_inverse(backend, Triangle::lower, rectangle, rectangle, SpdStorage::full, info);
        }),
        message_of([&] { batched::potrs(backend, Triangle::lower, rectangle, m.rhs); }),
        message_of([&] { batched::pseudo_inverse(backend, rectangle, rectangle, 0, info); })})
    EXPECT_NE(message.find("matrices are 4 x 3, must be square"), std::string::npos) << message;
  const auto wide = MatrixBatchView<T>::strided(m.a.data(), 4, 513, 4, 0, 1, m.view.space);
  EXPECT_EQ(message_of([&] { batched::geqrf(backend, wide, m.tau.data()); }),
            "batched::geqrf: a: matrices are 4 x 513, at most 512 x 512 is supported");
  rectangle.orders = m.ipiv.data();
  EXPECT_EQ(message_of([&] { batched::geqrf(backend, rectangle, m.tau.data()); }),
            "batched::geqrf: a: matrices are 4 x 3, must be square to have orders");
}

}  // namespace
}  // namespace blockjacobi::test
