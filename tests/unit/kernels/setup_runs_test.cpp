#include "kernels/setup/launch_runs.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <vector>

namespace blockjacobi::kernels {
namespace {

/// First slot, count, smallest and largest order of a launch.
struct Launched {
  index_t first, count, smallest, largest;
  bool operator==(const Launched&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Launched& r) {
    return out << r.count << " from " << r.first << ", orders " << r.smallest << ".." << r.largest;
  }
};

/// Orders and how many blocks have them, in ascending order.
std::vector<Launched> runs(ScalarType scalar, const std::vector<std::pair<index_t, index_t>>& blocks, index_t lower,
                           index_t upper) {
  std::vector<BlockGroup> groups;
  index_t slot = 0;
  for (const auto& [n, count] : blocks) {
    groups.push_back({.size = n, .count = count, .first_slot = slot, .start = 0});
    slot += count;
  }
  std::vector<Launched> found;
  for_each_setup_run(h200, scalar, groups, lower, upper, [&](const SlotRange& range) {
    found.push_back({range.first, range.count, range.smallest, range.largest});
  });
  return found;
}

std::vector<Launched> tiny_runs(const std::vector<std::pair<index_t, index_t>>& blocks) {
  return runs(ScalarType::d, blocks, 0, largest_tiny_order);
}
std::vector<Launched> large_runs(const std::vector<std::pair<index_t, index_t>>& blocks) {
  return runs(ScalarType::d, blocks, largest_tiny_order, max_block_size);
}

TEST(SetupRuns, AShorterLastBlockTakesNoKernelFromTheOthers) {
  EXPECT_EQ(tiny_runs({{5, 1}, {8, 100'000}}), (std::vector<Launched>{{0, 1, 5, 5}, {1, 100'000, 8, 8}}));
  EXPECT_EQ(tiny_runs({{17, 100'000}, {18, 90'000}, {19, 2}, {20, 1}}),
            (std::vector<Launched>{{0, 100'000, 17, 17}, {100'000, 90'000, 18, 18}, {190'000, 3, 19, 20}}));
  EXPECT_EQ(large_runs({{33, 1}, {48, 1000}}), (std::vector<Launched>{{0, 1, 33, 33}, {1, 1000, 48, 48}}));
}

TEST(SetupRuns, FewBlocksShareALaunch) {
  EXPECT_EQ(tiny_runs({{1, 5}, {3, 7}, {4, 9}, {5, 1}, {8, 100}}),
            (std::vector<Launched>{{0, 21, 1, 4}, {21, 101, 5, 8}}));
  EXPECT_EQ(large_runs({{33, 2}, {40, 3}, {48, 4}}), (std::vector<Launched>{{0, 9, 33, 48}}));
  EXPECT_EQ(tiny_runs({{6, 100'000}, {7, 100'000}}), (std::vector<Launched>{{0, 200'000, 6, 7}}))
      << "they have no kernels of their own";
}

TEST(SetupRuns, OrdersOfOneLaunchHaveOnePolicy) {
  std::vector<std::pair<index_t, index_t>> blocks;
  for (index_t n = 1; n <= max_block_size; ++n) blocks.emplace_back(n, 3);
  const std::pair<index_t, index_t> halves[] = {{0, largest_tiny_order}, {largest_tiny_order, max_block_size}};
  for (const ScalarType scalar : {ScalarType::s, ScalarType::d, ScalarType::c, ScalarType::z}) {
    index_t seen = 0;
    for (const auto& [lower, upper] : halves)
      for (const Launched& run : runs(scalar, blocks, lower, upper)) {
        EXPECT_EQ(run.first, seen);
        EXPECT_EQ(run.count, 3 * (run.largest - run.smallest + 1));
        seen += run.count;
        for (index_t n = run.smallest; n <= run.largest; ++n) {
          EXPECT_TRUE(share_setup(h200, scalar, n, run.largest)) << n << " and " << run.largest;
        }
      }
    EXPECT_EQ(seen, 3 * max_block_size);
  }
}

TEST(SetupRuns, NothingFromNothing) { EXPECT_TRUE(tiny_runs({{40, 3}, {7, 0}}).empty()); }

}  // namespace
}  // namespace blockjacobi::kernels
