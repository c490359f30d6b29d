#include "core/shared/coupling.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace blockjacobi::test {
namespace {

using detail::Complex;
using detail::couples;
using detail::magnitude;

TEST(Magnitude, OfRealNumbersIsExact) {
  EXPECT_EQ(magnitude(-0.1f), static_cast<double>(0.1f));
  EXPECT_EQ(magnitude(-0.1), 0.1);
}

TEST(Magnitude, OfComplexNumbersOfAnySize) {
  for (const double size : {1.0, 3e-307, 1e-160, 1e-30, 1e30, 1e160, 1.2e308})
    for (const double angle : {0.0, 0.3, 0.7853981633974483, 1.5707963267948966, 2.0, 4.0}) {
      const std::complex<double> a = std::polar(size, angle);
      const long double expected = std::abs(std::complex<long double>(a));
      EXPECT_LE(std::abs(magnitude(Complex<double>{a.real(), a.imag()}) - expected), 3e-16L * expected) << a;
      if (size < 1e-30 || size > 1e30) continue;
      const std::complex<float> b(a);
      const long double expected_of_b = std::abs(std::complex<long double>(b));
      EXPECT_LE(std::abs(magnitude(Complex<float>{b.real(), b.imag()}) - expected_of_b), 3e-16L * expected_of_b) << b;
    }
  const double least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(magnitude(Complex<double>{3 * least, -4 * least}), 5 * least);
  const float least_float = std::numeric_limits<float>::denorm_min(), most_float = std::numeric_limits<float>::max();
  EXPECT_EQ(magnitude(Complex<float>{3 * least_float, 4 * least_float}), 5.0 * static_cast<double>(least_float));
  EXPECT_GT(magnitude(Complex<float>{most_float, most_float}), static_cast<double>(most_float));
}

TEST(Magnitude, OfWhatIsNotFinite) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(magnitude(Complex<double>{0.0, 0.0}), 0.0);
  EXPECT_EQ(magnitude(Complex<double>{1.0, -infinity}), infinity);
  EXPECT_EQ(magnitude(Complex<float>{-std::numeric_limits<float>::infinity(), 0.0f}), infinity);
  for (const double other : {0.0, 1.0, nan}) {
    EXPECT_NE(magnitude(Complex<double>{nan, other}), magnitude(Complex<double>{nan, other})) << other;
    EXPECT_NE(magnitude(Complex<double>{other, nan}), magnitude(Complex<double>{other, nan})) << other;
  }
}

TEST(Couples, FromTheThresholdOnAndNeverByZeroOrNan) {
  EXPECT_TRUE(couples(1.0, 2.0, 4.0, 0.125));
  EXPECT_FALSE(couples(0.99, 2.0, 4.0, 0.125));
  EXPECT_TRUE(couples(1e-300, 0.0, 4.0, 0.5));
  EXPECT_FALSE(couples(0.0, 0.0, 4.0, 0.5));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(couples(nan, 0.0, 0.0, 0.0));
  // The magnitudes of two blocks may have a product that overflows or underflows.
  EXPECT_FALSE(couples(1e300, 1e154, 1e150, 1.0));
  EXPECT_TRUE(couples(1e-300, 1e-154, 1e-150, 1.0));
}

}  // namespace
}  // namespace blockjacobi::test
