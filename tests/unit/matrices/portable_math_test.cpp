#include "matrices/generators/portable_math.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace {

using blockjacobi::matrices::detail::portable_exp2;
using blockjacobi::matrices::detail::portable_log2;

TEST(PortableMath, Exp2AgreesWithLibm) {
  for (double x = -40.0; x <= 40.0; x += 0.0371) EXPECT_NEAR(portable_exp2(x) / std::exp2(x), 1.0, 4e-15) << x;
}

TEST(PortableMath, Exp2OfIntegersIsExact) {
  for (int k = -60; k <= 60; ++k) EXPECT_EQ(portable_exp2(k), std::ldexp(1.0, k));
}

TEST(PortableMath, Log2AgreesWithLibm) {
  for (double x = 1e-12; x < 1e12; x *= 1.037) EXPECT_NEAR(portable_log2(x), std::log2(x), 2e-14) << x;
}

TEST(PortableMath, Log2OfPowersIsExact) {
  for (int k = -60; k <= 60; ++k) EXPECT_EQ(portable_log2(std::ldexp(1.0, k)), k);
}

}  // namespace
