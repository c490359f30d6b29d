#include "core/shared/cg_recurrence.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace blockjacobi::detail {
namespace {

/// In the middle of a solve, with a step length of 0.5 and r^H z = 4.
CgState<double> running() {
  CgState<double> s = cg_initial_state<double>(1e-3, 10);
  s.fresh = 0;
  s.rho = 4.0;
  s.pq = 8.0;
  cg_step_length(s);
  return s;
}

TEST(CgForecast, IsTheNextDot) {
  // r = (1, 3), z = (1, 1), q = (2, 1), t = (1, 2): r - q / 2 = (0, 2.5), z - t / 2 = (0.5, 0).
  CgState<double> s = running();
  CgForecast f{1.0 * 2 + 1.0 * 1 + 1.0 * 1 + 3.0 * 2, 2.0 * 1 + 1.0 * 2, 0.0};
  EXPECT_FALSE(cg_foresee(s, f)) << "0 of 4";
  f = {3.0, 4.0, 1.0};
  EXPECT_TRUE(cg_foresee(s, f));
  EXPECT_DOUBLE_EQ(s.beta, (4.0 - 0.5 * 3.0 + 0.25 * 4.0) / 4.0);
  EXPECT_DOUBLE_EQ(f.moved, 1.0 + 4.0 + 0.25 * 4.0);
}

TEST(CgForecast, IsNotTrustedWhereItsTermsCancel) {
  CgState<double> s = running();
  for (const double rest : {-0.1, 0.0, 0.9, 1.1}) {  // percent
    CgForecast f{(4.0 - 0.04 * rest) / 0.5, 0.0, 0.0};
    EXPECT_EQ(cg_foresee(s, f), rest > 1.0) << rest;
  }
  CgForecast f{std::numeric_limits<double>::quiet_NaN(), 1.0, 0.0};
  EXPECT_FALSE(cg_foresee(s, f));
}

TEST(CgForecast, IsNotTrustedWhereRoundingHasGrownToTheRootOfTheRoundoff) {
  CgState<double> s = running();
  const double limit = 1.0 / std::numeric_limits<double>::epsilon();  // of moved, for a forecast of 1
  for (const double factor : {0.9, 1.1}) {
    CgForecast f{3.0 / 0.5, 0.0, factor * limit};
    EXPECT_EQ(cg_foresee(s, f), factor < 1.0);
  }
  CgState<float> single = cg_initial_state<float>(1e-3, 10);
  single.fresh = 0;
  single.rho = 4.0;
  single.alpha = 0.5f;
  CgForecast f{3.0 / 0.5, 0.0, 1e8};
  EXPECT_FALSE(cg_foresee(single, f));
}

TEST(CgForecast, HasNoStepAfterAStop) {
  CgState<double> s = running();
  s.pq = -1.0;
  cg_step_length(s);
  CgForecast f{3.0, 4.0, 1.0};
  EXPECT_FALSE(cg_foresee(s, f));
  EXPECT_EQ(s.stop, static_cast<int>(StopReason::indefinite_matrix));
  EXPECT_EQ(s.alpha, 0.0);
}

TEST(CgForecast, IsConfirmedByTheIterationAfter) {
  CgState<double> s = running();
  s.rho_new = 2.0;
  s.rr = 1.0;
  cg_confirm(s);
  EXPECT_EQ(s.stop, 0);
  EXPECT_EQ(s.iteration, 1);
  EXPECT_EQ(s.history_size, 1);
  EXPECT_EQ(s.rho, 2.0);
  s.rr = 1e-8;
  cg_confirm(s);
  EXPECT_EQ(s.stop, static_cast<int>(StopReason::converged));
  EXPECT_EQ(s.beta, 1.0) << "the direction is there already, for one who resumes";
  cg_step_length(s);
  EXPECT_EQ(s.alpha, 0.0) << "x has taken its step";
  s = running();
  s.rho_new = -2.0;
  s.rr = 1.0;
  cg_confirm(s);
  EXPECT_EQ(s.stop, static_cast<int>(StopReason::indefinite_preconditioner));
}

}  // namespace
}  // namespace blockjacobi::detail
