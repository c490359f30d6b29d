#include "core/shared/scalar.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <limits>

namespace blockjacobi::test {
namespace {

TEST(Quotient, ComplexNumbersOfAnySize) {
  for (const double a_size : {1.0, 1e-150, 1e280})
    for (const double b_size : {1.0, 3e-290, 1e-160, 1e160, 1.2e308})
      for (const double angle : {0.0, 0.3, 0.7853981633974483, 1.5707963267948966, 2.0, 4.0}) {
        const std::complex<double> a = std::polar(a_size, 0.4), b = std::polar(b_size, angle);
        const std::complex<long double> expected = std::complex<long double>(a) / std::complex<long double>(b);
        const long double size = std::abs(expected);
        if (size > 1e307L || size < 1e-290L) continue;  // not a normal double
        const detail::Complex<double> found =
            detail::quotient(detail::Complex<double>{a.real(), a.imag()}, detail::Complex<double>{b.real(), b.imag()});
        EXPECT_LE(std::abs(std::complex<long double>(found.re, found.im) - expected), 1e-15L * size) << a << " / " << b;
      }
  EXPECT_EQ(detail::quotient(1.0, 4.0), 0.25);
}

TEST(Quotient, ByZeroOrInfinityIsNoFiniteNumberOrZero) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(detail::finite(detail::quotient(detail::Complex<double>{1.0, 1.0}, detail::Complex<double>{0.0, 0.0})));
  const auto zero = detail::quotient(detail::Complex<double>{1.0, 1.0}, detail::Complex<double>{infinity, 0.0});
  EXPECT_TRUE(detail::is_zero(zero));
}

TEST(Reciprocal, ComplexNumbersOfAnySize) {
  const double infinity = std::numeric_limits<double>::infinity(), largest = std::numeric_limits<double>::max();
  for (const double size : {1.0, 3e-307, 1e-160, 1e160, 1e300})
    for (const double angle : {0.0, 0.3, 0.7853981633974483, 1.5707963267948966, 2.0, 4.0}) {
      const std::complex<double> a = std::polar(size, angle);
      const std::complex<long double> expected = 1.0L / std::complex<long double>(a);
      const auto found = detail::reciprocal(detail::Complex<double>{a.real(), a.imag()});
      EXPECT_LE(std::abs(std::complex<long double>(found.re, found.im) - expected), 1e-15L * std::abs(expected)) << a;
    }
  // |Re| + |Im| overflows: 1 / (x + i x) = (1 - i) / (2 x), here with spacing 2^-1074.
  for (const double sign : {1.0, -1.0}) {
    const auto found = detail::reciprocal(detail::Complex<double>{sign * largest, largest});
    EXPECT_NEAR(found.re, sign * 0.5 / largest, 1e-323);
    EXPECT_NEAR(found.im, -0.5 / largest, 1e-323);
  }
  const auto zero = detail::reciprocal(detail::Complex<double>{infinity, 1.0});
  EXPECT_TRUE(detail::is_zero(zero));
}

TEST(Convert, BetweenPrecisions) {
  EXPECT_EQ(detail::convert<float>(0.1), 0.1f);
  EXPECT_EQ(detail::convert<double>(0.1f), static_cast<double>(0.1f));
  const auto narrow = detail::convert<detail::Complex<float>>(detail::Complex<double>{0.1, -0.2});
  EXPECT_EQ(narrow.re, 0.1f);
  EXPECT_EQ(narrow.im, -0.2f);
}

}  // namespace
}  // namespace blockjacobi::test
