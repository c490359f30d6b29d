#include "core/shared/compute_type.hpp"
#include "kernels/coarse/launch.hpp"
#include "kernels/coarse/policy.hpp"
#include "kernels/launch/grid.hpp"
#include "tests/kernels/systems.hpp"

namespace blockjacobi::test {
namespace {

/// The product with E^-1, at orders that the coarse levels of small systems do not have.
template <class T>
class CoarseSolveTest : public TypedDeviceTest<T> {};
TYPED_TEST_SUITE(CoarseSolveTest, Scalars);

template <Scalar T>
struct Sums {
  std::vector<std::complex<double>> values;
  std::vector<double> magnitude;  ///< the same of absolute values: the scale of the rounding errors
};

/// D X D s in double.
template <Scalar T, Scalar S>
Sums<T> expected_sums(const std::vector<S>& x, const std::vector<real_t<T>>& scale, const std::vector<T>& partials,
                      std::size_t pieces) {
  const std::size_t m = scale.size();
  Sums<T> all{std::vector<std::complex<double>>(m), std::vector<double>(m)};
  for (std::size_t j = 0; j < m; ++j) {
    std::complex<double> s;
    double size = 0;
    for (std::size_t p = 0; p < pieces; ++p) {
      s += std::complex<double>(partials[j * pieces + p]);
      size += std::abs(partials[j * pieces + p]);
    }
    for (std::size_t i = 0; i < m; ++i) {
      const double scales = static_cast<double>(scale[i]) * static_cast<double>(scale[j]);
      const std::complex<double> element(x[j * m + i]);
      all.values[i] += scales * element * s;
      all.magnitude[i] += scales * std::abs(element) * size;
    }
  }
  return all;
}

/// In full and in single precision, of which the flag chooses one.
template <Scalar T>
void expect_solved(const Backend& backend, index_t order) {
  using S = detail::single_t<T>;
  using Inverse = detail::CoarseInverseArrays<detail::compute_t<T>, detail::compute_t<S>>;
  const auto m = static_cast<std::size_t>(order);
  constexpr std::size_t pieces = 3;
  const auto full = random_vector<T>(m * m, 91);
  const auto single = random_vector<S>(m * m, 92);
  const auto partials = random_vector<T>(m * pieces, 93);
  auto scale = random_vector<real_t<T>>(m, 94);
  for (real_t<T>& factor : scale) factor += real_t<T>(2);
  const Array<T> device_full(backend, full), device_partials(backend, partials);
  const Array<S> device_single(backend, single);
  const Array<real_t<T>> device_scale(backend, scale);
  const std::vector<real_t<T>> ones(m, real_t<T>(1));
  const std::vector<T> garbage(m, std::numeric_limits<real_t<T>>::quiet_NaN());

  const auto expect = [&](const Inverse& inverse, const Sums<T>& expected) {
    Array<T> c(backend, garbage);
    kernels::coarse_solve(inverse, static_cast<index_t>(pieces), data_of(device_partials), data_of(c), nullptr,
                          backend.stream());
    const std::vector<T> found = c.to_host();
    // Sums of m products of sums, here and on the host.
    const double bound = 2 * complex_rounding<T> * static_cast<double>(m + pieces + 2) * epsilon<T>;
    for (std::size_t i = 0; i < m; ++i)
      ASSERT_LE(std::abs(std::complex<double>(found[i]) - expected.values[i]), bound * expected.magnitude[i])
          << "row " << i;
  };
  const auto of_full = expected_sums(full, ones, partials, pieces);
  const auto of_single = expected_sums(single, scale, partials, pieces);
  const Array<int> no(backend, std::vector<int>{0}), yes(backend, std::vector<int>{1});
  const auto* const elements = data_of(device_full);
  const auto* const other = detail::compute_cast(device_single.data());
  expect({order, elements}, of_full);
  expect({order, elements, other, no.data()}, of_full);
  expect({order, elements, other, yes.data(), device_scale.data()}, of_single);
}

/// The last thread block has no row in some of its lanes.
TYPED_TEST(CoarseSolveTest, AnyNumberOfRowsAThreadBlock) {
  const Backend backend = Backend::cuda();
  const kernels::Device& device = kernels::current_device();
  for (const auto& [rows, order] : {std::pair{8, 8 * device.multiprocessors - 3},
                                    {16, 8 * device.multiprocessors + 5},
                                    {32, 16 * device.multiprocessors + 5}}) {
    SCOPED_TRACE(order);
    ASSERT_EQ(kernels::coarse_solve_rows(device, order), rows);
    expect_solved<TypeParam>(backend, order);
  }
}

}  // namespace
}  // namespace blockjacobi::test
