#include "tests/kernels/systems.hpp"

namespace blockjacobi::test {
namespace {

template <class T>
class VectorTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(VectorTest, Scalars);

template <Scalar T>
void expect_vector_operations(std::size_t n) {
  SCOPED_TRACE(n);
  const Backend backend = Backend::cuda();
  auto& ops = detail::krylov_ops<T>(backend);
  const auto x = random_vector<T>(n, 51), u = random_vector<T>(n, 52);
  Array<T> device_x(backend, x);
  const Array<T> device_u(backend, u);
  Array<double> norm(backend, std::vector<double>{-1.0});
  ops.norm(static_cast<index_t>(n), data_of(device_x), norm.data());
  double sum = 0.0;
  for (const T value : x) sum += std::norm(std::complex<double>(value));
  // The root has half of the error of its sum.
  const double squares = static_cast<double>(is_complex<T> ? 2 * n : n);
  EXPECT_NEAR(norm.to_host()[0], std::sqrt(sum), rounding_of_sum<double>(squares, std::sqrt(sum)) / 2);

  const Array<int> no(backend, std::vector<int>{0}), yes(backend, std::vector<int>{3});
  ops.add(static_cast<index_t>(n), data_of(device_u), data_of(device_x), no.data());
  EXPECT_TRUE(same_bits(device_x.to_host(), x));
  ops.add(static_cast<index_t>(n), data_of(device_u), data_of(device_x), yes.data());
  std::vector<T> expected(n);
  for (std::size_t i = 0; i < n; ++i) expected[i] = x[i] + u[i];
  EXPECT_TRUE(same_bits(device_x.to_host(), expected));
}

TYPED_TEST(VectorTest, NormAndSum) {
  for (const std::size_t n : {0u, 1u, 31u, 32u, 255u, 256u, 257u, 5000u}) expect_vector_operations<TypeParam>(n);
}
TYPED_TEST(VectorTest, LongNormAndSum) { expect_vector_operations<TypeParam>(3000001); }

TYPED_TEST(VectorTest, RandomElementsAreThoseOfTheHost) {
  using T = TypeParam;
  constexpr std::size_t n = 70001;
  const auto drawn_on = [](const Backend& where) {
    Array<T> x(where, n);
    detail::krylov_ops<T>(where).random(static_cast<index_t>(n), data_of(x));
    return x.to_host();
  };
  const std::vector<T> expected = drawn_on(Backend::host());
  EXPECT_TRUE(same_bits(drawn_on(Backend::cuda()), expected));
  double sum = 0.0, squares = 0.0;
  for (const T value : expected) {
    EXPECT_LE(std::abs(std::real(value)), 1.0);
    sum += static_cast<double>(std::real(value));
    squares += static_cast<double>(std::real(value) * std::real(value));
  }
  // Mean and variance of [-1, 1], and five standard deviations of theirs.
  EXPECT_NEAR(sum / n, 0.0, 5.0 * std::sqrt(1.0 / 3.0 / n));
  EXPECT_NEAR(squares / n, 1.0 / 3.0, 5.0 * std::sqrt(4.0 / 45.0 / n));
}

TYPED_TEST(VectorTest, Residual) {
  using T = TypeParam;
  const Backend backend = Backend::cuda();
  const auto a = convection_diffusion<T>(12);
  const auto n = static_cast<std::size_t>(a.rows);
  const auto b = random_vector<T>(n, 53), x = random_vector<T>(n, 54);
  const auto residual_on = [&](const Backend& where) {
    const auto system = on<std::int32_t>(where, a);
    const Array<T> device_b(where, b), device_x(where, x);
    Array<T> r(where, n);
    auto& ops = detail::krylov_ops<T>(where);
    ops.residual(*ops.make_csr(system.view()), data_of(device_b), data_of(device_x), data_of(r));
    return r.to_host();
  };
  const auto expected = residual_on(Backend::host());
  EXPECT_LE(relative_difference(residual_on(backend), expected) * largest_of(expected),
            rounding_of_product(a, largest_of(x), largest_of(b)));
}

}  // namespace
}  // namespace blockjacobi::test
