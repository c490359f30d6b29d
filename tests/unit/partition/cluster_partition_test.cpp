#include "support/messages.hpp"
#include "support/random.hpp"
#include "unit/partition/grids.hpp"

#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

namespace blockjacobi::test {
namespace {

using Numbers = std::vector<index_t>;

/// A random nonsymmetric matrix with a dominant diagonal, a few entries a row of very different size.
CsrMatrix<double> random_matrix(index_t rows, unsigned seed) {
  Random random(seed);
  std::vector<Triplet<double>> entries;
  for (index_t i = 0; i < rows; ++i) {
    entries.push_back({i, i, 4.0});
    for (int k = 0; k < 4; ++k) entries.push_back({i, random.index(rows), std::ldexp(1.0, -random.index(20))});
  }
  return CsrMatrix<double>::from_triplets(rows, rows, entries);
}

TEST(Clusters, FollowTheStrongDirectionWhereverItIs) {
  // Strong coupling goes across the rows of the numbering: neighbours in it are coupled by a hundredth.
  const auto a = grid(24, 24, 0.01, 1.0);
  const auto p = BlockPartition::clusters(a, 24);
  EXPECT_LE(p.blocks.largest_block(), 24);
  EXPECT_GT(captured(a, p), 0.85);
}

TEST(Clusters, CaptureAboutAsMuchAsMetis) {
  if (!BlockPartition::metis_available()) GTEST_SKIP() << "built without METIS";
  for (const double across : {1.0, 0.1})
    for (const index_t max_size : {8, 32, 128}) {
      const auto a = grid(70, 61, across, 1.0);
      EXPECT_GT(captured(a, BlockPartition::clusters(a, max_size)),
                0.95 * captured(a, BlockPartition::metis(a, max_size)))
          << across << " " << max_size;
    }
}

TEST(Clusters, AreFullButForAFew) {
  const auto a = grid(64, 64, 1.0, 1.0);
  for (const index_t max_size : {1, 2, 5, 8, 31, 32, 100, 512}) {
    const auto p = BlockPartition::clusters(a, max_size);
    EXPECT_LE(p.blocks.largest_block(), max_size);
    EXPECT_EQ(p.blocks.rows(), a.rows());
    EXPECT_EQ(p.permutation.size(), a.rows());
    EXPECT_LE(p.blocks.blocks(), 1.6 * a.rows() / max_size + 1) << max_size;
  }
}

TEST(Clusters, AreTheSameWithAnyNumberOfThreads) {
  const auto a = random_matrix(20000, 5);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const auto alone = BlockPartition::clusters(a, 32);
  for (const int number : {2, 3, 7}) {
    omp_set_num_threads(number);
    const auto together = BlockPartition::clusters(a, 32);
    EXPECT_EQ(together.permutation, alone.permutation) << number;
    EXPECT_EQ(together.blocks, alone.blocks) << number;
  }
  omp_set_num_threads(threads);
}

TEST(Clusters, ZerosAndWhatIsNotANumberTieNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto a = CsrMatrix<double>::from_triplets(
      4, 4,
      std::vector<Triplet<double>>{{0, 0, 1}, {0, 1, 0}, {1, 1, 1}, {1, 2, nan}, {2, 2, 1}, {3, 3, 0}, {3, 2, 1e-300}});
  const auto p = BlockPartition::clusters(a, BlockPartition::uniform(4, 1), 32);
  EXPECT_EQ(p.blocks.blocks(), 3);  // rows 2 and 3 are tied, by however little
  EXPECT_EQ(p.blocks.block_size(2), 2);
}

TEST(Clusters, UncoupledRowsStayScalar) {
  const auto p = BlockPartition::clusters(grid(40, 1, 0.0, 0.0), 32);
  EXPECT_EQ(p.blocks.blocks(), 40);
  EXPECT_TRUE(p.permutation.is_identity());
}

TEST(Clusters, TakeSmallMatrices) {
  EXPECT_EQ(BlockPartition::clusters(CsrMatrix<double>(), 32).blocks.blocks(), 0);
  EXPECT_EQ(BlockPartition::clusters(grid(1, 1, 1, 1), 32).blocks.blocks(), 1);
  EXPECT_EQ(BlockPartition::clusters(grid(5, 5, 1, 1), 32).blocks.blocks(), 1);
}

TEST(Clusters, KeepSupervariablesTogether) {
  const auto a = three_unknowns_a_node(grid(8, 8, 1.0, 1.0));
  for (const index_t max_size : {3, 10, 24, 64}) {
    const auto p = BlockPartition::clusters(a, max_size);
    EXPECT_LE(p.blocks.largest_block(), max_size);
    for (index_t k = 0; k < 192; ++k) EXPECT_EQ(p.permutation.order()[static_cast<std::size_t>(k)] % 3, k % 3);
  }
}

TEST(Clusters, KeepStatedNodesTogether) {
  const auto a = grid(12, 10, 0.01, 1.0);
  // Nodes of two rows that the strong direction would part.
  const auto p = BlockPartition::clusters(a, BlockPartition::uniform(120, 2), 16);
  EXPECT_LE(p.blocks.largest_block(), 16);
  for (index_t k = 0; k < 120; k += 2) {
    EXPECT_EQ(p.permutation.order()[static_cast<std::size_t>(k)] % 2, 0);
    EXPECT_EQ(p.permutation.order()[static_cast<std::size_t>(k) + 1],
              p.permutation.order()[static_cast<std::size_t>(k)] + 1);
  }
}

template <class T>
class ClustersOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(ClustersOf, Scalars);

TYPED_TEST(ClustersOf, AnyViewAreThoseOfTheCanonicalMatrix) {
  // 1-based with 32-bit offsets, columns of a row in descending order, and every entry in two halves.
  const auto a = grid(9, 7, 0.25, 1.0);
  const auto m = a.view();
  std::vector<std::int32_t> offsets{1};
  Numbers columns;
  std::vector<TypeParam> values;
  for (index_t i = 0; i < m.rows; ++i) {
    for (offset_t k = m.row_offsets[i + offset_t{1}]; k-- > m.row_offsets[i];)
      for (int half = 0; half < 2; ++half) {
        columns.push_back(m.columns[k] + 1);
        values.push_back(static_cast<TypeParam>(static_cast<real_t<TypeParam>>(m.values[k] / 2)));
      }
    offsets.push_back(static_cast<std::int32_t>(columns.size()) + 1);
  }
  const CsrView<TypeParam, std::int32_t> view{63,
                                              63,
                                              static_cast<offset_t>(columns.size()),
                                              offsets.data(),
                                              columns.data(),
                                              values.data(),
                                              IndexBase::one,
                                              MemorySpace::host};
  const auto p = BlockPartition::clusters(view, 16), q = BlockPartition::clusters(a, 16);
  EXPECT_EQ(p.permutation, q.permutation);
  EXPECT_EQ(p.blocks, q.blocks);
}

TEST(Clusters, SolveInFewerIterationsThanNeighbouringRows) {
  const auto a = grid(60, 60, 0.02, 1.0);
  const auto iterations = [&](const PermutedPartition& p) {
    const PermutedMatrix<double> B(a, p.permutation);
    const Backend backend = Backend::host();
    const LinearOperator<double> A(backend, B.view());
    const BlockJacobi<double> M(backend, B.view(), p.blocks);
    const std::vector<double> b(static_cast<std::size_t>(a.rows()), 1.0);
    std::vector<double> x(b.size());
    const SolveReport report = cg(A, M, VectorView<const double>(b), VectorView<double>(x));
    EXPECT_TRUE(report.converged());
    return report.iterations;
  };
  const auto neighbours = iterations({Permutation::identity(a.rows()), BlockPartition::uniform(a.rows(), 30)});
  EXPECT_LT(2 * iterations(BlockPartition::clusters(a, 30)), neighbours);
}

TEST(ClusterChecks, NameTheValue) {
  const auto a = grid(2, 2, 1.0, 1.0);
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(a, 0); }),
            "BlockPartition::clusters: block size is 0, must be in 1..512");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(a, 513); }),
            "BlockPartition::clusters: block size is 513, must be in 1..512");
  const CsrMatrix<double> rectangle(2, 3, {0, 0, 0}, {}, {});
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(rectangle); }),
            "BlockPartition::clusters: the matrix is 2 x 3, must be square");
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(a, BlockPartition::uniform(5, 1)); }),
            "BlockPartition::clusters: the matrix has 4 rows, the nodes 5");
  EXPECT_EQ(message_of([&] {
              (void)BlockPartition::clusters(a, BlockPartition::from_offsets({0, 1, 4}), 2);
            }),
            "BlockPartition::clusters: node 1 has 3 rows, a block at most 2");
  auto view = a.view();
  view.values = nullptr;
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(view); }),
            "BlockPartition::clusters: the matrix has 12 entries but no values");
  view.space = MemorySpace::device;
  EXPECT_EQ(message_of([&] { (void)BlockPartition::clusters(view); }),
            "BlockPartition::clusters: the matrix lies on the device, must be on the host");
}

}  // namespace
}  // namespace blockjacobi::test
