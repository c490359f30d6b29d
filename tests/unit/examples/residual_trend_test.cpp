#include "examples/solve/residual_trend.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace solve {
namespace {

/// Of residuals 10^exponent(iteration), target 1e-8.
template <class Exponent>
Trend after(int iterations, Exponent&& exponent) {
  std::vector<double> history;
  for (int i = 0; i <= iterations; ++i) history.push_back(std::pow(10.0, exponent(i)));
  return trend_of(history, 1e-8);
}

TEST(ResidualTrendTest, Falls) {
  for (const int iterations : {1, 2, 3, 100})
    EXPECT_EQ(after(iterations, [](int i) { return -0.1 * i; }), Trend::falls);
  // 100 of 800 iterations, and the same behind a plateau or with waves.
  EXPECT_EQ(after(100, [](int i) { return -0.01 * i; }), Trend::falls);
  EXPECT_EQ(after(1000, [](int i) { return i < 800 ? 0.0 : -0.01 * (i - 800); }), Trend::falls);
  EXPECT_EQ(after(200, [](int i) { return -0.01 * i + 0.3 * std::sin(0.3 * i); }), Trend::falls);
  EXPECT_EQ(after(200, [](int i) { return i < 100 ? 0.1 * i : 20 - 0.1 * i; }), Trend::falls) << "it grew before";
}

TEST(ResidualTrendTest, Holds) {
  EXPECT_EQ(after(100, [](int) { return 0.0; }), Trend::holds);
  EXPECT_EQ(after(1000, [](int i) { return i < 100 ? -0.01 * i : -1.0; }), Trend::holds) << "it fell before";
  EXPECT_EQ(after(100, [](int i) { return -1e-3 * i; }), Trend::holds) << "80 times as many iterations";
  EXPECT_EQ(after(1000, [](int i) { return 0.1 * std::sin(0.3 * i); }), Trend::holds);
  EXPECT_EQ(after(100, [](int i) { return 1e-3 * i; }), Trend::holds) << "by a tenth in all";
}

TEST(ResidualTrendTest, Grows) {
  for (const int iterations : {1, 2, 3, 100}) EXPECT_EQ(after(iterations, [](int i) { return 0.5 * i; }), Trend::grows);
  EXPECT_EQ(after(200, [](int i) { return i < 100 ? -0.05 * i : -5 + 0.1 * (i - 100); }), Trend::grows);
}

TEST(ResidualTrendTest, ResidualsWithoutALogarithmAreLeftOut) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(trend_of(std::vector{1.0, 0.1, 0.01, infinity, std::nan("")}, 1e-8), Trend::holds) << "one is left";
  EXPECT_EQ(trend_of(std::vector{1.0, 1e10, 1e20, 1e30, infinity}, 1e-8), Trend::grows);
  EXPECT_EQ(trend_of(std::vector<double>{}, 1e-8), Trend::holds);
  EXPECT_EQ(trend_of(std::vector{1.0}, 1e-8), Trend::holds);
  EXPECT_EQ(trend_of(std::vector{0.0, 0.0, 0.0}, 0.0), Trend::holds);
}

}  // namespace
}  // namespace solve
