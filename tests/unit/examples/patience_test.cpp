#include "examples/solve/patience.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace solve {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// The iteration at which patience with residuals 10^exponent(iteration) ends, target 1e-8; `most` if it does not.
template <class Exponent>
int end_of(Patience& patience, int most, Exponent&& exponent, int step = 1) {
  for (int i = step; i < most; i += step)
    if (!patience.lasts({i, std::pow(10.0, exponent(i)), 1e-8})) return i;
  return most;
}

TEST(PatienceTest, LastsForSeveralTimesThePrediction) {
  const auto holds = [](int) { return -1.0; };
  Patience few(3.0), many(250.0), unknown(inf);
  EXPECT_EQ(end_of(few, 5000, holds), 100);
  EXPECT_EQ(end_of(many, 5000, holds), 1000);
  EXPECT_EQ(end_of(unknown, 5000, holds), 100);
}

TEST(PatienceTest, LastsWhereTheTargetIsNear) {
  const auto lasts = [](auto&& exponent) {
    Patience patience(25.0);
    return end_of(patience, 5000, exponent) == 5000;
  };
  EXPECT_TRUE(lasts([](int i) { return std::max(-8.0, -0.03 * i); })) << "267 iterations";
  EXPECT_TRUE(lasts([](int i) { return std::max(-8.0, i < 60 ? 0.0 : -0.06 * (i - 60)); })) << "behind a plateau";
  EXPECT_TRUE(lasts([](int i) { return std::max(-9.0, -0.04 * i); })) << "past the target";
  EXPECT_FALSE(lasts([](int i) { return std::max(-8.0, -0.01 * i); })) << "800 iterations";
  EXPECT_FALSE(lasts([](int i) { return 0.01 * i; }));
}

TEST(PatienceTest, IsAskedAgainWhereItLasted) {
  Patience patience(25.0);
  EXPECT_EQ(end_of(patience, 5000, [](int i) { return i < 110 ? -0.03 * i : -3.3; }), 200);
}

TEST(PatienceTest, ColumnsHaveTheirOwn) {
  Patience patience(25.0);
  EXPECT_EQ(end_of(patience, 90, [](int) { return 0.0; }), 90);
  EXPECT_EQ(end_of(patience, 5000, [](int) { return 0.0; }), 100);
}

TEST(PatienceTest, BatchesOfIterationsAndOverflowAreNoEnd) {
  Patience patience(25.0);
  EXPECT_EQ(end_of(
                patience, 5000, [](int) { return 0.0; }, 64),
            256)
      << "four residuals show a trend";
  Patience overflow(25.0);
  for (int i = 1; i < 500; ++i) EXPECT_TRUE(overflow.lasts({i, inf, 1e-8}));
}

}  // namespace
}  // namespace solve
