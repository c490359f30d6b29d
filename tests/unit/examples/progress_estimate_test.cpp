#include "examples/solve/progress_estimate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace solve {
namespace {

/// Iterations of a hundredth of a second, residuals 10^exponent(iteration), target 1e-8.
template <class Exponent>
ProgressEstimate after(int iterations, Exponent&& exponent) {
  ProgressEstimate estimate;
  for (int i = 1; i <= iterations; ++i) estimate.add({i, std::pow(10.0, exponent(i)), 1e-8}, 0.01 * i);
  return estimate;
}

TEST(ProgressEstimateTest, StraightLine) {
  // 1e-8 after 801 iterations.
  for (const int iterations : {10, 100, 255, 256, 257, 700, 800}) {
    const auto estimate = after(iterations, [](int i) { return -0.01 * (i - 1); });
    ASSERT_TRUE(estimate.seconds_left().has_value()) << iterations;
    EXPECT_NEAR(*estimate.seconds_left(), 0.01 * (801 - iterations), 1e-9 * 801) << iterations;
    EXPECT_NEAR(estimate.share_done(), (iterations - 1) / 800.0, 1e-12) << iterations;
  }
}

TEST(ProgressEstimateTest, ThePlateauAtTheBeginningIsForgotten) {
  const auto estimate = after(3000, [](int i) { return i < 1000 ? 0.0 : -0.002 * (i - 1000); });
  // 4 decades took 2000 iterations, so do the other 4.
  EXPECT_NEAR(estimate.seconds_left().value_or(0.0), 20.0, 0.1);
  EXPECT_NEAR(estimate.share_done(), 0.5, 1e-12);
}

TEST(ProgressEstimateTest, WavesAreAveraged) {
  const auto estimate = after(1000, [](int i) { return -0.004 * i + 0.3 * std::sin(0.3 * i); });
  EXPECT_NEAR(estimate.seconds_left().value_or(0.0), 10.0, 2.0);
}

TEST(ProgressEstimateTest, NothingIsKnown) {
  EXPECT_FALSE(ProgressEstimate().seconds_left().has_value());
  EXPECT_EQ(ProgressEstimate().share_done(), 0.0);
  EXPECT_FALSE(after(7, [](int i) { return -i; }).seconds_left().has_value()) << "too few";
  EXPECT_FALSE(after(500, [](int) { return 0.0; }).seconds_left().has_value()) << "no slope";
  EXPECT_FALSE(after(500, [](int i) { return 0.01 * i; }).seconds_left().has_value()) << "it grows";
  EXPECT_EQ(after(500, [](int i) { return 0.01 * i; }).share_done(), 0.0);
}

TEST(ProgressEstimateTest, BeyondTheTarget) {
  const auto estimate = after(100, [](int i) { return -0.1 * i; });
  EXPECT_EQ(estimate.seconds_left(), 0.0);
  EXPECT_EQ(estimate.share_done(), 1.0);
}

TEST(ProgressEstimateTest, ResidualsWithoutALogarithmAreLeftOut) {
  auto estimate = after(100, [](int i) { return -0.01 * (i - 1); });
  const double left = estimate.seconds_left().value();
  for (const double residual : {0.0, std::numeric_limits<double>::infinity(), std::nan("")})
    estimate.add({101, residual, 1e-8}, 1.01);
  EXPECT_EQ(estimate.seconds_left(), left);
}

TEST(ProgressEstimateTest, NoTarget) {
  ProgressEstimate estimate;
  for (int i = 1; i <= 100; ++i) estimate.add({i, std::pow(0.9, i), 0.0}, 0.01 * i);
  EXPECT_FALSE(estimate.seconds_left().has_value());
  EXPECT_EQ(estimate.share_done(), 0.0);
}

}  // namespace
}  // namespace solve
