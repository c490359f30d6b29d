#include "support/batch.hpp"
#include "support/messages.hpp"

namespace blockjacobi::test {
namespace {

using batched::Op;
using batched::SpdStorage;
using batched::Triangle;

TYPED_TEST_SUITE(BatchedOnBackend, BackendCases, BackendCaseName);

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

TYPED_TEST(BatchedOnBackend, MisuseOfOneOperand) {
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
  EXPECT_EQ(spoilt([&](auto& v) {
              v.data = nullptr;
              v.pointers = pointers;
              v.count = offset_t{1} << 60;
            }),
            "batched::getrf: a: 1152921504606846976 pointers exceed the address space");
  if (backend_kind() == BackendKind::cuda) {  // where the pointers are not read
    EXPECT_EQ(spoilt([&](auto& v) {
                v.data = nullptr;
                v.pointers = pointers;
                v.rows = v.cols = v.ld = 16;
                v.count = offset_t{1} << 59;
              }),
              "batched::getrf: ipiv: 16 elements for each of 576460752303423488 matrices exceed the address space");
    return;
  }
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

TYPED_TEST(BatchedOnBackend, MisuseOfOutputs) {
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
  MatrixBatchView<T> shifted = m.output;
  shifted.data = m.view.data + 16;
  const std::string in_part = "overlaps the input in part: starts " + bytes(16) + " bytes from it and spans " +
                              bytes(48) + " bytes, the input " + bytes(48);
  EXPECT_EQ(message_of([&] { batched::getri(m.backend, m.view, m.ipiv.data(), shifted, m.info.data()); }),
            "batched::getri: x: " + in_part);
  EXPECT_EQ(message_of([&] { batched::pseudo_inverse(m.backend, m.view, shifted, 0, m.info.data()); }),
            "batched::pseudo_inverse: x: " + in_part);
  EXPECT_EQ(message_of([&] {
              batched::spd_inverse(m.backend, Triangle::lower, m.view, shifted, SpdStorage::full, m.info.data());
            }),
            "batched::spd_inverse: x: " + in_part);
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

TYPED_TEST(BatchedOnBackend, MisuseOfRightHandSidesAndArrays) {
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
  EXPECT_EQ(spoilt([](auto& b) { b.ld = 3; }),
            "batched::getrs: b: leading dimension is 3, must be at least the 4 rows, or 0");
  EXPECT_EQ(spoilt([](auto& b) { b.cols = -1; }), "batched::getrs: b: 3 matrices of 4 x -1, none may be negative");
  EXPECT_EQ(spoilt([](auto& b) { b.data = nullptr; }), "batched::getrs: b: null pointer, 3 matrices of 4 x 2");
  EXPECT_EQ(spoilt([](auto& b) { b.cols = b.ld = std::numeric_limits<index_t>::max(); }),
            "batched::getrs: b: matrices of 4611686011984936966 elements exceed the address space");
  const MemorySpace other = m.view.space == MemorySpace::host ? MemorySpace::device : MemorySpace::host;
  EXPECT_EQ(spoilt([&](auto& b) { b.space = other; }),
            "batched::getrs: b: lies on the " + std::string(to_string(other)) + ", the backend (" +
                m.backend.description() + ") computes on the " + to_string(m.view.space));
  EXPECT_EQ(message_of([&] { batched::potrs(m.backend, Triangle::lower, m.view, m.view); }),
            "batched::potrs: b: is the storage of cholesky");
  MatrixBatchView<T> b = m.rhs;
  b.data = m.view.data + 8;
  EXPECT_NE(message_of([&] { batched::potrs(m.backend, Triangle::lower, m.view, b); }), "no InvalidArgument");
  b = m.rhs;
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
