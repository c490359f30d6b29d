#include "support/messages.hpp"

#include <blockjacobi/renumbering.hpp>

#include <gtest/gtest.h>

namespace blockjacobi::test {
namespace {

TEST(Renumbering, KeepsNodesOrPartsThem) {
  EXPECT_TRUE(keeps_nodes(Permutation::from_order({2, 3, 4, 5, 0, 1}), 2));
  EXPECT_TRUE(keeps_nodes(Permutation::from_order({3, 4, 5, 0, 1, 2}), 3));
  EXPECT_FALSE(keeps_nodes(Permutation::from_order({3, 2, 4, 5, 0, 1}), 2));
  EXPECT_FALSE(keeps_nodes(Permutation::from_order({2, 5, 4, 3, 0, 1}), 2));
  EXPECT_FALSE(keeps_nodes(Permutation::from_order({1, 2, 3, 4, 5, 0}), 2));
  EXPECT_TRUE(keeps_nodes(Permutation::from_order({1, 2, 0}), 1));
  EXPECT_TRUE(keeps_nodes(Permutation(), 2));
  EXPECT_EQ(message_of([] { (void)keeps_nodes(Permutation::identity(2), 0); }), "keeps_nodes: b is 0, must be >= 1");
}

}  // namespace
}  // namespace blockjacobi::test
