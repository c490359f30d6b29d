#include "matrices/generators/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace {

using blockjacobi::index_t;
using blockjacobi::matrices::detail::Random;

/// The standard fixes the 10 000th number of the default seed.
TEST(Random, DrawsFromMersenneTwister) {
  std::mt19937_64 engine;
  engine.discard(9999);
  ASSERT_EQ(engine(), 9981545732273789042U);
  Random random(std::mt19937_64::default_seed);
  for (int k = 0; k < 9999; ++k) random.unit();
  EXPECT_EQ(random.unit(), static_cast<double>(9981545732273789042U >> 11) * 0x1p-53);
}

TEST(Random, KeepsItsRanges) {
  Random random(3);
  for (int k = 0; k < 10000; ++k) {
    const double u = random.unit();
    EXPECT_TRUE(u >= 0.0 && u < 1.0);
    const double c = random.log_uniform(1e6);
    EXPECT_TRUE(c >= 1.0 && c < 1e6 * (1.0 + 1e-12)) << c;
    const index_t i = random.below(7);
    EXPECT_TRUE(i >= 0 && i < 7);
  }
}

TEST(Random, LogUniformHasItsMedianAtTheSquareRoot) {
  Random random(5);
  std::vector<double> values(20001);
  for (double& value : values) value = random.log_uniform(1e4);
  std::nth_element(values.begin(), values.begin() + 10000, values.end());
  EXPECT_NEAR(values[10000], 100.0, 10.0);
}

TEST(Random, StreamsDiffer) {
  Random a(1, 0), b(1, 1), c(2, 0);
  const double x = a.unit();
  EXPECT_NE(x, b.unit());
  EXPECT_NE(x, c.unit());
}

}  // namespace
