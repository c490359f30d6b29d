#include "examples/solve/patience.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace solve {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr int limit = 5000;

/// The iteration at which patience with residuals 10^exponent(iteration) ends, target 1e-8; `most` if it does not.
template <class Exponent>
int end_of(Patience& patience, int most, Exponent&& exponent, int step = 1) {
  patience.begin_column();
  for (int i = step; i < most; i += step)
    if (!patience.lasts({i, std::pow(10.0, exponent(i)), 1e-8})) return i;
  return most;
}

template <class Exponent>
bool lasts(Exponent&& exponent) {
  Patience patience(25.0, limit);
  return end_of(patience, limit, exponent) == limit;
}

TEST(PatienceTest, LastsForSeveralTimesThePrediction) {
  const auto holds = [](int) { return -1.0; };
  Patience few(3.0, limit), many(250.0, limit), unknown(inf, limit);
  EXPECT_EQ(end_of(few, limit, holds), 100);
  EXPECT_EQ(end_of(many, limit, holds), 1000);
  EXPECT_EQ(end_of(unknown, limit, holds), 100);
}

TEST(PatienceTest, LastsWhereTheTargetIsNear) {
  EXPECT_TRUE(lasts([](int i) { return std::max(-8.0, -0.022 * i); })) << "364 iterations";
  EXPECT_TRUE(lasts([](int i) { return std::max(-8.0, i < 60 ? 0.0 : -0.05 * (i - 60)); })) << "behind a plateau";
  EXPECT_TRUE(lasts([](int i) { return std::max(-9.0, -0.04 * i); })) << "past the target";
  EXPECT_FALSE(lasts([](int i) { return std::max(-8.0, -0.01 * i); })) << "800 iterations";
  EXPECT_FALSE(lasts([](int i) { return 0.01 * i; }));
}

TEST(PatienceTest, IsAskedAgainWhereItLasted) {
  Patience patience(25.0, limit);
  EXPECT_EQ(end_of(patience, limit, [](int i) { return i < 110 ? -0.03 * i : -3.3; }), 200);
}

TEST(PatienceTest, LastsFromHalfOfTheLimitOn) {
  const auto holds = [](int) { return 0.0; };
  Patience short_of(25.0, 198), enough(25.0, 200);
  EXPECT_EQ(end_of(short_of, 198, holds), 198);
  EXPECT_EQ(end_of(enough, 200, holds), 100);
}

TEST(PatienceTest, ColumnsHaveTheirOwn) {
  Patience patience(25.0, limit);
  EXPECT_EQ(end_of(patience, 90, [](int) { return 0.0; }), 90);
  EXPECT_EQ(end_of(patience, limit, [](int) { return 0.0; }), 100);
}

TEST(PatienceTest, FewResidualsShowNoTrend) {
  Patience batches(25.0, limit);
  const int end = end_of(
      batches, limit, [](int) { return 0.0; }, 64);
  EXPECT_EQ(end, 384) << "192, 256, 320 and 384 are its later half";
  Patience overflow(25.0, limit), late(25.0, limit);
  overflow.begin_column();
  for (int i = 1; i < 500; ++i) EXPECT_TRUE(overflow.lasts({i, inf, 1e-8}));
  late.begin_column();
  for (int i = 1; i < 200; ++i) EXPECT_TRUE(late.lasts({i, i < 198 ? inf : 1.0, 1e-8})) << i;
}

}  // namespace
}  // namespace solve
