#include "core/shared/solve_control.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace blockjacobi::detail {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double just_above = 1.0 + 1e-9;

SolveControl begun(const StoppingRule& rule, double rhs_norm, double initial_residual) {
  SolveControl s{};
  s.max_iterations = 10;
  begin_solve(s, rule, {rhs_norm * rhs_norm, initial_residual * initial_residual, 1.0}, false);
  return s;
}

int stop_after(SolveControl s, double residual) {
  end_iteration(s, false, residual * residual, true);
  return s.stop;
}

TEST(SolveControl, GoalIsTheLargerOfRelativeAndAbsolute) {
  EXPECT_DOUBLE_EQ(begun({1e-3, 0.0, 0, 1.0}, 4.0, 100.0).goal, 4e-3);
  EXPECT_DOUBLE_EQ(begun({1e-3, 0.0, 1, 1.0}, 4.0, 100.0).goal, 0.1);
  EXPECT_DOUBLE_EQ(begun({1e-3, 0.5, 0, 1.0}, 4.0, 100.0).goal, 0.5);
  const SolveControl s = begun({1e-3, 0.0, 0, 0.5}, 4.0, 100.0);
  EXPECT_DOUBLE_EQ(s.goal, 4e-3);
  EXPECT_DOUBLE_EQ(s.target, 2e-3);
}

TEST(SolveControl, TheRecurrenceStopsAtItsTargetAndNotBefore) {
  const SolveControl s = begun({1e-3, 0.0, 0, 1.0}, 4.0, 100.0);
  EXPECT_EQ(stop_after(s, s.target / just_above), static_cast<int>(StopReason::converged));
  EXPECT_EQ(stop_after(s, s.target * just_above), 0);
  EXPECT_EQ(stop_after(s, nan), static_cast<int>(StopReason::nan_or_inf));
}

TEST(SolveControl, IterationsAreCountedUpToTheirLimit) {
  SolveControl s = begun({1e-3, 0.0, 0, 1.0}, 1.0, 1.0);
  end_iteration(s, true, 1.0, true);
  EXPECT_EQ(s.iteration, 0) << "a residual computed from x is no iteration";
  for (int k = 1; k < s.max_iterations; ++k) {
    end_iteration(s, false, 1.0, true);
    EXPECT_EQ(s.iteration, k);
    EXPECT_EQ(s.stop, 0);
  }
  end_iteration(s, false, 1.0, true);
  EXPECT_EQ(s.stop, static_cast<int>(StopReason::max_iterations));
  EXPECT_EQ(s.history_size, s.max_iterations + 1);
}

TEST(SolveControl, TheRecomputedResidualDecides) {
  constexpr auto converged = StopReason::converged, limit = StopReason::max_iterations;
  EXPECT_EQ(final_reason(converged, 1.0, 1.0), converged);
  EXPECT_EQ(final_reason(converged, just_above, 1.0), StopReason::stagnation);
  EXPECT_EQ(final_reason(limit, 1.0, 1.0), converged);
  EXPECT_EQ(final_reason(limit, just_above, 1.0), limit);
  EXPECT_EQ(final_reason(converged, nan, 1.0), StopReason::nan_or_inf);
  EXPECT_EQ(final_reason(StopReason::nan_or_inf, 0.0, 1.0), StopReason::nan_or_inf);
  EXPECT_EQ(final_reason(StopReason::singular_block, 0.0, 1.0), StopReason::singular_block);
}

TEST(SolveControl, AnEnqueuedSolveIsJudgedByItsGoal) {
  SolveControl s = begun({1e-3, 0.0, 0, 0.5}, 1.0, 1.0);
  EXPECT_EQ(end_solve(s, s.goal * just_above).reason, StopReason::max_iterations);
  EXPECT_EQ(end_solve(s, s.goal).reason, StopReason::converged);
  EXPECT_EQ(end_solve(s, s.goal).target, s.goal);
}

TEST(SolveControl, NormsThatLeaveTheRangeAreNotJudged) {
  EXPECT_EQ(begun({1e-3, 0.0, 0, 1.0}, 1e-141, 1.0).stop, static_cast<int>(StopReason::nan_or_inf));
  EXPECT_EQ(begun({1e-3, 0.0, 0, 1.0}, 1e141, 1.0).stop, static_cast<int>(StopReason::nan_or_inf));
  SolveControl s{};
  begin_solve(s, {1e-3, 0.0, 0, 1.0}, {0.0, 1.0, 0.0}, false);
  EXPECT_EQ(s.stop, static_cast<int>(StopReason::converged)) << "b = 0: x = 0";
  s = {};
  begin_solve(s, {1e-3, 0.0, 0, 1.0}, {1.0, 1.0, 1.0}, true);
  EXPECT_EQ(s.stop, static_cast<int>(StopReason::singular_block));
}

}  // namespace
}  // namespace blockjacobi::detail
