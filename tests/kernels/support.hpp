#pragma once

#include "backend/backend_impl.hpp"
#include "support/bits.hpp"

#include <blockjacobi/array.hpp>
#include <blockjacobi/block_batch.hpp>

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace blockjacobi::test {

/// Skips where there is no device; derived by every fixture here.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Backend::cuda_available()) GTEST_SKIP() << "no CUDA device";
  }
};

template <class T>
class TypedDeviceTest : public DeviceTest {};

/// Whether the first device is of the architecture that the designs were chosen on, with all of its shared memory
/// (BLOCKJACOBI_TEST_SHARED_KB). There a design that its policy takes must run: that it does not is a failure, which
/// elsewhere is a skip. Policies do not ask what the code was compiled for; only clusters do, see may_have_clusters().
inline bool is_sm_90() {
  const auto attribute = [](cudaDeviceAttr name) {
    int value = 0;
    return cudaDeviceGetAttribute(&value, name, 0) == cudaSuccess ? value : -1;
  };
  return attribute(cudaDevAttrComputeCapabilityMajor) == 9 && attribute(cudaDevAttrComputeCapabilityMinor) == 0 &&
         attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin) == 227 << 10;
}

using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;

template <Scalar T>
constexpr double epsilon = std::numeric_limits<real_t<T>>::epsilon();

/// Errors of complex arithmetic over those of real one.
template <Scalar T>
constexpr double complex_rounding = is_complex<T> ? 3 : 1;

/// What two sums of so many products may differ by, in whatever order, if absolute values add up to `magnitude`: each
/// is off by (terms + 2) eps of that at most, in complex arithmetic by three times that. (N. J. Higham, "Accuracy and
/// stability of numerical algorithms", chapter 3)
template <Scalar T>
double rounding_of_sum(double terms, double magnitude) {
  return 2 * complex_rounding<T> * (terms + 2) * magnitude * epsilon<T>;
}

/// Uniform in [-1, 1], real and imaginary part.
template <Scalar T>
T random_scalar(std::mt19937& generator) {
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  if constexpr (is_complex<T>) {
    const double re = uniform(generator), im = uniform(generator);
    return T(static_cast<real_t<T>>(re), static_cast<real_t<T>>(im));
  } else {
    return static_cast<T>(uniform(generator));
  }
}

template <Scalar T>
std::vector<T> random_vector(std::size_t size, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<T> v(size);
  for (T& x : v) x = random_scalar<T>(generator);
  return v;
}

/// Largest |x|; NaN if there is one.
template <Scalar T>
double largest_of(const std::vector<T>& v) {
  double largest = 0.0;
  for (const T x : v)
    if (const double size = std::abs(x); !(size <= largest)) largest = size;
  return largest;
}

/// max |a - b| / max |b|, or the absolute difference where b = 0; NaN if there is one.
template <Scalar T>
double relative_difference(const std::vector<T>& a, const std::vector<T>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0.0, largest = 0.0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    if (std::isnan(d)) return d;
    difference = std::max(difference, d);
    largest = std::max(largest, static_cast<double>(std::abs(b[i])));
  }
  return largest > 0.0 ? difference / largest : difference;
}

}  // namespace blockjacobi::test
