#include "matrices/generators/block_family.hpp"

#include "matrix_checks.hpp"

#include <cmath>
#include <limits>

namespace {

using namespace matrix_checks;
using blockjacobi::real_t;
using blockjacobi::matrices::block_family;
using blockjacobi::matrices::block_family_offsets;
using blockjacobi::matrices::BlockFamily;
using blockjacobi::matrices::BlockFamilyOptions;

using AllScalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;

template <class T>
class BlockFamilies : public ::testing::Test {};
TYPED_TEST_SUITE(BlockFamilies, AllScalars);

BlockFamilyOptions mixed(BlockFamily family) { return {.family = family, .sizes = {1, 3, 8, 17}, .blocks = 9}; }

/// The diagonal blocks.
template <Scalar T>
std::vector<Dense<T>> blocks_of(const BlockFamilyOptions& options) {
  const auto offsets = block_family_offsets(options);
  const auto d = dense(block_family<T>(options));
  std::vector<Dense<T>> blocks;
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const index_t size = offsets[b + 1] - offsets[b];
    blocks.push_back(d.block(offsets[b], offsets[b], size, size));
  }
  return blocks;
}

template <Scalar T>
constexpr double eps = std::numeric_limits<real_t<T>>::epsilon();

TEST(BlockFamilyOffsets, RepeatTheSizes) {
  EXPECT_EQ(block_family_offsets({.sizes = {1, 3, 2}, .blocks = 5}), (std::vector<index_t>{0, 1, 4, 6, 7, 10}));
}

TYPED_TEST(BlockFamilies, BlocksAreDenseAndCoupled) {
  const auto options = mixed(BlockFamily::random);
  const auto a = block_family<TypeParam>(options);
  const auto offsets = block_family_offsets(options);
  ASSERT_EQ(a.rows(), offsets.back());
  Eigen::MatrixXi expected = Eigen::MatrixXi::Zero(a.rows(), a.rows());
  for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
    const index_t size = offsets[b + 1] - offsets[b];
    expected.block(offsets[b], offsets[b], size, size).setOnes();
    if (b + 2 == offsets.size()) break;
    for (index_t i = 0; i < std::min(size, offsets[b + 2] - offsets[b + 1]); ++i)
      expected(offsets[b] + i, offsets[b + 1] + i) = expected(offsets[b + 1] + i, offsets[b] + i) = 1;
  }
  EXPECT_EQ(pattern(a), expected);
}

TYPED_TEST(BlockFamilies, RandomHasItsCondition) {
  auto options = mixed(BlockFamily::random);
  options.condition = 1e3;
  for (const auto& block : blocks_of<TypeParam>(options))
    EXPECT_NEAR(reciprocal_condition<TypeParam>(block), block.rows() == 1 ? 1.0 : 1e-3, 50.0 * eps<TypeParam>);
}

TYPED_TEST(BlockFamilies, SpdIsPositiveDefiniteWithItsCondition) {
  auto options = mixed(BlockFamily::spd);
  options.condition = 1e3;
  options.coupling = 0.45;
  EXPECT_TRUE(is_positive_definite(block_family<TypeParam>(options)));
  for (const auto& block : blocks_of<TypeParam>(options))
    EXPECT_NEAR(reciprocal_condition<TypeParam>(block), block.rows() == 1 ? 1.0 : 1e-3, 50.0 * eps<TypeParam>);
}

TYPED_TEST(BlockFamilies, PermutedTriangularNeedsPivots) {
  for (const auto& block : blocks_of<TypeParam>(mixed(BlockFamily::permuted_triangular))) {
    EXPECT_GT(reciprocal_condition<TypeParam>(block), 1e-3);
    if (block.rows() == 1) continue;
    // One row has but its last entry, and no row stands where it would in the triangle.
    Eigen::VectorXi leading(block.rows());
    for (Eigen::Index i = 0; i < block.rows(); ++i) {
      Eigen::Index j = 0;
      while (block(i, j) == 0.0) ++j;
      EXPECT_NE(i, j);
      EXPECT_EQ(std::abs(block(i, j)), 1.0);
      leading(i) = static_cast<int>(j);
    }
    std::sort(leading.begin(), leading.end());
    EXPECT_EQ(leading, Eigen::VectorXi::LinSpaced(block.rows(), 0, static_cast<int>(block.rows()) - 1));
  }
}

TYPED_TEST(BlockFamilies, GradedIsWellConditionedOnceEquilibrated) {
  auto options = mixed(BlockFamily::graded);
  options.condition = 10.0;
  options.grading = 1e6;
  for (const auto& block : blocks_of<TypeParam>(options)) {
    if (block.rows() == 1) continue;
    EXPECT_LT(reciprocal_condition<TypeParam>(block), 1e-4);
    EXPECT_GT(reciprocal_condition<TypeParam>(equilibrated<TypeParam>(block)), 1e-3);
  }
}

TYPED_TEST(BlockFamilies, SingularBlocksAreWhereTheyShouldBe) {
  for (const BlockFamily family : {BlockFamily::zero_row, BlockFamily::duplicate_row, BlockFamily::rank_deficient}) {
    auto options = mixed(family);
    options.singular_every = 3;
    const auto blocks = blocks_of<TypeParam>(options);
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const auto& block = blocks[b];
      if (block.rows() == 1) {
        EXPECT_EQ(block(0, 0) == 0.0, b % 3 == 0);
      } else if (b % 3 == 0) {
        EXPECT_LT(reciprocal_condition<TypeParam>(block), 1e-15);
        EXPECT_EQ(rank_of(block), block.rows() - 1);
      } else {
        EXPECT_GT(reciprocal_condition<TypeParam>(block), 1e-3);
      }
    }
  }
}

TYPED_TEST(BlockFamilies, DefectsAreExact) {
  const Dense<TypeParam> zero = blocks_of<TypeParam>({.family = BlockFamily::zero_row, .sizes = {6}, .blocks = 1})[0];
  EXPECT_EQ((zero.rowwise().norm().array() == 0.0).count(), 1);

  const Dense<TypeParam> equal =
      blocks_of<TypeParam>({.family = BlockFamily::duplicate_row, .sizes = {6}, .blocks = 1})[0];
  int pairs = 0;
  for (Eigen::Index i = 0; i < 6; ++i)
    for (Eigen::Index j = 0; j < i; ++j) pairs += equal.row(i) == equal.row(j);
  EXPECT_EQ(pairs, 1);

  const Dense<TypeParam> sum =
      blocks_of<TypeParam>({.family = BlockFamily::rank_deficient, .sizes = {6}, .blocks = 1})[0];
  int dependent = 0;
  for (Eigen::Index i = 0; i < 6; ++i) dependent += (sum.colwise().sum() - 2.0 * sum.row(i)).isZero(0.0);
  EXPECT_EQ(dependent, 1);
}

TYPED_TEST(BlockFamilies, SeedDecidesNotTheNumberOfBlocks) {
  auto options = mixed(BlockFamily::random);
  const auto a = block_family<TypeParam>(options);
  EXPECT_TRUE(same(a, block_family<TypeParam>(options)));
  options.blocks = 4;
  const auto fewer = blocks_of<TypeParam>(options);
  const auto more = blocks_of<TypeParam>(mixed(BlockFamily::random));
  for (std::size_t b = 0; b < fewer.size(); ++b) EXPECT_EQ(fewer[b], more[b]);
  options.seed = 2;
  EXPECT_NE(blocks_of<TypeParam>(options)[1], fewer[1]);
}

TEST(BlockFamilyEntries, NoCouplingIsBlockDiagonal) {
  const auto a = block_family<double>({.sizes = {4, 6}, .blocks = 6, .coupling = 0.0});
  EXPECT_EQ(a.nnz(), 3 * (16 + 36));
}

TEST(BlockFamilyEntries, LargestBlocks) {
  for (const BlockFamily family : {BlockFamily::permuted_triangular, BlockFamily::rank_deficient}) {
    const auto a = block_family<float>({.family = family, .sizes = {512}, .blocks = 2});
    EXPECT_EQ(a.rows(), 1024);
    for (const float value : a.values()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(BlockFamilyOptionErrors, AreNamed) {
  const auto refused = [](const BlockFamilyOptions& options, const std::vector<std::string>& parts) {
    expect_refused([&] { (void)block_family<double>(options); }, parts);
    expect_refused([&] { (void)block_family_offsets(options); }, parts);
  };
  refused({.sizes = {}}, {"block_family", "sizes is empty"});
  refused({.sizes = {3, 0}}, {"sizes is 0"});
  refused({.sizes = {513}}, {"sizes is 513", "<= 512"});
  refused({.blocks = 0}, {"blocks is 0"});
  refused({.sizes = {512}, .blocks = 5000000}, {"2147483648 rows"});
  refused({.condition = 0.5}, {"condition is 0.5"});
  refused({.grading = 0.0}, {"grading is 0"});
  refused({.singular_every = 0}, {"singular_every is 0"});
  refused({.coupling = 0.5}, {"coupling is 0.5", "< 0.5"});
}

}  // namespace
