#include "solver/headway.hpp"

#include <gtest/gtest.h>

namespace blockjacobi::detail {
namespace {

SolveControl at(int iteration, double residual) {
  SolveControl found{};
  found.iteration = iteration;
  found.residual = residual;
  return found;
}

TEST(Headway, IsMissingWhereNoHalvingComes) {
  Headway headway(1.0);
  EXPECT_FALSE(headway.is_missing(at(0, 1.0)));
  EXPECT_FALSE(headway.is_missing(at(99, 0.6)));
  EXPECT_TRUE(headway.is_missing(at(100, 0.6)));
  headway.wait();
  EXPECT_FALSE(headway.is_missing(at(199, 5.0)));
  EXPECT_TRUE(headway.is_missing(at(200, 5.0)));
  EXPECT_FALSE(headway.is_missing(at(201, 0.4)));
  EXPECT_FALSE(headway.is_missing(at(300, 0.3)));
  EXPECT_TRUE(headway.is_missing(at(301, 0.3)));
}

/// Without a drift only where the residual has come down; for one three times more, with longer and longer waits.
TEST(Headway, EndsAfterVainRestarts) {
  Headway headway(1.0);
  EXPECT_FALSE(headway.may_begin_anew(0.5, false));
  EXPECT_TRUE(headway.may_begin_anew(0.4, false));
  EXPECT_FALSE(headway.may_begin_anew(0.3, false));
  for (const int patience : {200, 400, 800}) {
    SCOPED_TRACE(patience);
    EXPECT_TRUE(headway.may_begin_anew(0.3, true));
    EXPECT_FALSE(headway.is_missing(at(1000, 0.3)));
    EXPECT_FALSE(headway.is_missing(at(1000 + patience - 1, 0.3)));
    EXPECT_TRUE(headway.is_missing(at(1000 + patience, 0.3)));
  }
  EXPECT_FALSE(headway.may_begin_anew(0.3, true));
  EXPECT_TRUE(headway.may_begin_anew(0.1, true));
  EXPECT_TRUE(headway.may_begin_anew(0.1, true));
}

}  // namespace
}  // namespace blockjacobi::detail
