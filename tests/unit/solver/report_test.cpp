#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <set>

namespace blockjacobi::test {
namespace {

TEST(StopReason, HasItsName) {
  std::set<std::string> names;
  for (int r = 1; r <= 10; ++r) names.insert(to_string(static_cast<StopReason>(r)));
  EXPECT_EQ(names.size(), 10u);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(to_string(StopReason::singular_block), "singular_block");
}

TEST(SolveReport, TextAndRelativeResidual) {
  SolveReport report;
  report.reason = StopReason::converged;
  report.iterations = 1;
  report.rhs_norm = 4.0;
  report.true_residual = 2.0;
  EXPECT_DOUBLE_EQ(report.relative_residual(), 0.5);
  EXPECT_NE(to_text(report).find("converged after 1 iteration: ||b - A x|| = 2.000e+00"), std::string::npos);
  report.recurrence_residual = 1.0;
  EXPECT_DOUBLE_EQ(report.residual_gap(), 0.25);
  EXPECT_NE(to_text(report).find("gap 2.5e-01 of ||b||"), std::string::npos) << to_text(report);
  report.recurrence_residual = 5.0;
  EXPECT_DOUBLE_EQ(report.residual_gap(), 0.75);
  report.rhs_norm = 0.0;
  EXPECT_DOUBLE_EQ(report.residual_gap(), 3.0);
  EXPECT_DOUBLE_EQ(report.relative_residual(), 2.0);
}

}  // namespace
}  // namespace blockjacobi::test
