#include "partition/bounded_parts.hpp"
#include "partition/strength_graph.hpp"
#include "support/messages.hpp"
#include "support/random.hpp"
#include "unit/partition/grids.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

namespace blockjacobi::test {
namespace {

using Numbers = std::vector<index_t>;

Numbers of(std::span<const index_t> s) { return {s.begin(), s.end()}; }

TEST(FromLabels, PutsEqualLabelsTogether) {
  const auto [permutation, blocks] = BlockPartition::from_labels(Numbers{7, -3, 7, 0, -3, 7});
  EXPECT_EQ(of(permutation.order()), (Numbers{0, 2, 5, 1, 4, 3}));
  EXPECT_EQ(of(blocks.offsets()), (Numbers{0, 3, 5, 6}));
}

TEST(FromLabels, NeighboursStayWhereTheyAre) {
  const auto [permutation, blocks] = BlockPartition::from_labels(Numbers{5, 5, 1, 9, 9, 9});
  EXPECT_TRUE(permutation.is_identity());
  EXPECT_EQ(of(blocks.offsets()), (Numbers{0, 2, 3, 6}));
  EXPECT_EQ(BlockPartition::from_labels({}).blocks.blocks(), 0);
}

TEST(FromLabels, NamesALabelWithTooManyRows) {
  EXPECT_EQ(BlockPartition::from_labels(Numbers(512, 4)).blocks.blocks(), 1);
  EXPECT_EQ(message_of([] { (void)BlockPartition::from_labels(Numbers(513, 4)); }),
            "BlockPartition::from_labels: 513 rows have the label 4, at most 512 may");
}

TEST(StrengthGraph, SumsScaledCouplingsOfBothTriangles) {
  // rows 0 and 1 are one vertex; row 3 has no diagonal and counts by its largest entry
  const auto m = CsrMatrix<double>::from_triplets(
      4, 4,
      std::vector<Triplet<double>>{
          {0, 0, 4}, {0, 1, 3}, {0, 2, 1}, {1, 1, 9}, {1, 2, 0}, {2, 1, 6}, {2, 2, 16}, {3, 2, 2}, {2, 3, 1e9}});
  EXPECT_EQ(detail::row_scales(m.view()), (std::vector<double>{4, 9, 16, 2}));
  const auto graph = detail::strength_graph(m, Numbers{0, 2, 3, 4}, 1);
  ASSERT_EQ(of(graph.columns()), (Numbers{1, 0, 2, 1}));
  // multiples of 2^-32
  const auto up = [](double w) { return std::ceil(w * 0x1p32) * 0x1p-32; };
  const double between_0_and_1 = up(1.0 / 8.0) + up(6.0 / 12.0);
  const double between_1_and_2 = up(2.0 / (4.0 * std::sqrt(2.0))) + 1.0;  // 1e9 counts as 1
  EXPECT_EQ(graph.values()[0], between_0_and_1);
  EXPECT_EQ(graph.values()[2], between_1_and_2);
  EXPECT_EQ(graph.values()[0], graph.values()[1]);
  EXPECT_EQ(graph.values()[2], graph.values()[3]);
}

/// Sizes fit, pieces hang together, numbers go from 0 on without a gap.
void expect_bounded(const CsrMatrix<double>& graph, const Numbers& rows, const Numbers& part, index_t max_size) {
  std::map<index_t, Numbers> members;
  for (std::size_t v = 0; v < part.size(); ++v) members[part[v]].push_back(static_cast<index_t>(v));
  ASSERT_EQ(members.empty() ? 0 : members.rbegin()->first + 1, static_cast<index_t>(members.size()));
  for (const auto& [number, vertices] : members) {
    index_t size = 0;
    for (const index_t v : vertices) size += rows[static_cast<std::size_t>(v)];
    EXPECT_LE(size, max_size);
    std::set<index_t> reached{vertices.front()};
    Numbers queue{vertices.front()};
    while (!queue.empty()) {
      const index_t v = queue.back();
      queue.pop_back();
      for (offset_t k = graph.view().row_offsets[v]; k < graph.view().row_offsets[v + 1]; ++k) {
        const index_t w = graph.view().columns[k];
        if (part[static_cast<std::size_t>(w)] == number && reached.insert(w).second) queue.push_back(w);
      }
    }
    EXPECT_EQ(reached.size(), vertices.size()) << "part " << number;
  }
}

TEST(BoundedParts, CutsWhatIsTooLargeAndJoinsWhatIsSmall) {
  Random random(11);
  for (int repeat = 0; repeat < 60; ++repeat) {
    const auto m = grid(1 + random.index(9), 1 + random.index(9), 1.0, 0.1);
    Numbers vertices(static_cast<std::size_t>(m.rows()) + 1);
    for (std::size_t v = 0; v < vertices.size(); ++v) vertices[v] = static_cast<index_t>(v);
    const auto graph = detail::strength_graph(m, vertices, 1);
    Numbers rows, part;
    for (index_t v = 0; v < graph.rows(); ++v) {
      rows.push_back(1 + random.index(3));
      part.push_back(random.index(4));
    }
    for (const index_t max_size : {3, 8, 32})
      expect_bounded(graph, rows, detail::bounded_parts(graph, rows, part, max_size), max_size);
  }
}

TEST(BoundedParts, APathOfOnePartBecomesEqualPieces) {
  const auto graph = CsrMatrix<double>::from_triplets(20, 20, [] {
    std::vector<Triplet<double>> edges;
    for (index_t i = 0; i + 1 < 20; ++i) {
      edges.push_back({i, i + 1, 1.0});
      edges.push_back({i + 1, i, 1.0});
    }
    return edges;
  }());
  const auto part = detail::bounded_parts(graph, Numbers(20, 1), Numbers(20, 0), 8);
  std::map<index_t, int> sizes;
  for (const index_t p : part) ++sizes[p];
  EXPECT_EQ(sizes, (std::map<index_t, int>{{0, 6}, {1, 7}, {2, 7}}));
}

TEST(BoundedParts, VerticesWithoutEdgesStayAlone) {
  const CsrMatrix<double> graph(5, 5, std::vector<offset_t>(6, 0), {}, {});
  EXPECT_EQ(detail::bounded_parts(graph, Numbers(5, 1), Numbers(5, 3), 32), (Numbers{0, 1, 2, 3, 4}));
}

class Metis : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!BlockPartition::metis_available()) GTEST_SKIP() << "built without METIS";
  }
};

TEST_F(Metis, FollowsTheStrongDirectionWhereverItIs) {
  // Strong coupling goes across the rows of the numbering: neighbours in it are coupled by a hundredth.
  const auto a = grid(24, 24, 0.01, 1.0);
  const auto p = BlockPartition::metis(a, 24);
  EXPECT_LE(p.blocks.largest_block(), 24);
  EXPECT_GT(captured(a, p), 0.85);
  EXPECT_LT(captured(a, {Permutation::identity(a.rows()), BlockPartition::detect(a, 24)}), 0.02);
}

TEST_F(Metis, NoBlockExceedsTheMaximum) {
  const auto a = grid(30, 31, 1.0, 1.0);
  for (const index_t max_size : {1, 2, 5, 8, 31, 32, 100, 512}) {
    const auto p = BlockPartition::metis(a, max_size);
    EXPECT_LE(p.blocks.largest_block(), max_size);
    EXPECT_EQ(p.blocks.rows(), a.rows());
    EXPECT_EQ(p.permutation.size(), a.rows());
    if (max_size >= 5) {
      EXPECT_LE(p.blocks.blocks(), 2 * a.rows() / max_size + 1) << max_size;
    }
  }
}

TEST_F(Metis, TheSameInputGivesTheSameBlocks) {
  const auto a = grid(20, 20, 1.0, 0.3);
  const auto p = BlockPartition::metis(a, 16), q = BlockPartition::metis(a, 16);
  EXPECT_EQ(p.permutation, q.permutation);
  EXPECT_EQ(p.blocks, q.blocks);
}

/// So irregular that other random numbers give other blocks.
CsrMatrix<double> random_network(index_t rows) {
  Random random(1);
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < rows; ++i) {
    entries.push_back({i, i, 4.0});
    for (int k = 0; k < 4; ++k) {
      const index_t j = random.index(rows);
      const double value = -std::abs(random.scalar<double>());
      entries.push_back({i, j, value});
      entries.push_back({j, i, value});
    }
  }
  return CsrMatrix<double>::from_triplets(rows, rows, entries);
}

TEST_F(Metis, ThreadsAtOnceGetTheSameBlocks) {
  const auto a = random_network(1000);
  const auto alone = BlockPartition::metis(a, 16);
  std::atomic<int> others = 0;
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k)
    threads.emplace_back([&] {
      for (int call = 0; call < 5; ++call) {
        const auto found = BlockPartition::metis(a, 16);
        if (!(found.permutation == alone.permutation && found.blocks == alone.blocks)) ++others;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(others, 0);
}

#if defined(__GLIBC__)
TEST_F(Metis, TheCallersRandomNumbersGoOn) {
  const auto a = random_network(300);
  const auto numbers_around = [](const auto& between) {
    std::srand(7);
    std::vector<int> numbers{std::rand(), std::rand()};
    between();
    for (int k = 0; k < 100; ++k) numbers.push_back(std::rand());
    return numbers;
  };
  EXPECT_EQ(numbers_around([&] { static_cast<void>(BlockPartition::metis(a, 16)); }), numbers_around([] {}));
}
#endif

TEST_F(Metis, UncoupledRowsStayScalar) {
  const auto p = BlockPartition::metis(grid(40, 1, 0.0, 0.0), 32);
  EXPECT_EQ(p.blocks.blocks(), 40);
  EXPECT_TRUE(p.permutation.is_identity());
}

TEST_F(Metis, TakesSmallMatrices) {
  EXPECT_EQ(BlockPartition::metis(CsrMatrix<double>(), 32).blocks.blocks(), 0);
  EXPECT_EQ(BlockPartition::metis(grid(1, 1, 1, 1), 32).blocks.blocks(), 1);
  EXPECT_EQ(BlockPartition::metis(grid(5, 5, 1, 1), 32).blocks.blocks(), 1);
}

TEST_F(Metis, SupervariablesStayTogether) {
  const auto a = three_unknowns_a_node(grid(8, 8, 1.0, 1.0));
  const auto p = BlockPartition::metis(a, 24);
  EXPECT_LE(p.blocks.largest_block(), 24);
  for (index_t k = 0; k < 192; ++k) EXPECT_EQ(p.permutation.order()[static_cast<std::size_t>(k)] % 3, k % 3);
}

TEST(MetisChecks, NameTheValue) {
  const auto a = grid(2, 2, 1.0, 1.0);
  EXPECT_EQ(message_of([&] { (void)BlockPartition::metis(a, 0); }),
            "BlockPartition::metis: block size is 0, must be in 1..512");
  const CsrMatrix<double> rectangle(2, 3, {0, 0, 0}, {}, {});
  EXPECT_EQ(message_of([&] { (void)BlockPartition::metis(rectangle); }),
            "BlockPartition::metis: the matrix is 2 x 3, must be square");
  auto view = a.view();
  view.values = nullptr;
  EXPECT_EQ(message_of([&] { (void)BlockPartition::metis(view); }),
            "BlockPartition::metis: the matrix has 12 entries but no values");
  view.space = MemorySpace::device;
  EXPECT_EQ(message_of([&] { (void)BlockPartition::metis(view); }),
            "BlockPartition::metis: the matrix lies on the device, must be on the host");
}

TEST(MetisChecks, ABuildWithoutItSaysSo) {
  if (BlockPartition::metis_available()) GTEST_SKIP() << "built with METIS";
  EXPECT_THROW((void)BlockPartition::metis(grid(2, 2, 1.0, 1.0)), Unavailable);
  EXPECT_THROW((void)BlockPartition::metis(CsrMatrix<double>()), Unavailable);
}

}  // namespace
}  // namespace blockjacobi::test
