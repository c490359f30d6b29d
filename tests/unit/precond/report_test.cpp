#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

namespace blockjacobi::test {
namespace {

TEST(BlockDefect, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(describe({3, 10, 4, 2, 0.0}), "block 3 (rows 10..13): pivot 2 is exactly zero");
  EXPECT_EQ(describe({3, 10, 4, 5, 1.5e-17}),
            "block 3 (rows 10..13): singular to working precision, reciprocal condition 1.50e-17");
  EXPECT_EQ(describe({0, 0, 4, -(1 + 1 + 2 * 4), 0.0}),
            "block 0 (rows 0..3): element (1, 2) of the matrix is NaN or Inf");
}

TEST(BlockJacobiReport, TextNamesTheFirstTenDefectsAndCountsTheRest) {
  BlockJacobiReport report;
  report.rows = 26;
  report.blocks = 13;
  report.sizes = {{2, 13}};
  report.bytes = 2'000'000;
  report.captured = 0.5;
  report.singular_blocks = 13;
  report.policy = SingularPolicy::identity;
  for (index_t b = 0; b < 13; ++b) report.defects.push_back({b, 2 * b, 2, 1, 0.0});
  const std::string text = to_text(report);
  EXPECT_NE(text.find("block-Jacobi (d): 26 rows in 13 blocks, 50.0 % of the entries inside, 2.00 MB"),
            std::string::npos);
  EXPECT_NE(text.find("13 x 2"), std::string::npos);
  EXPECT_NE(text.find("13 singular, 0 with NaN or Inf; policy identity"), std::string::npos);
  EXPECT_NE(text.find("block 9 (rows 18..19)"), std::string::npos);
  EXPECT_EQ(text.find("block 10 "), std::string::npos);
  EXPECT_NE(text.find("and 3 more"), std::string::npos);
}

TEST(BlockJacobiReport, TextOfALongHistogramKeepsItsEnds) {
  BlockJacobiReport report;
  for (index_t size = 1; size <= 20; ++size) report.sizes.emplace_back(size, 1);
  EXPECT_NE(to_text(report).find("1 x 8, ..., 1 x 20"), std::string::npos);
}

}  // namespace
}  // namespace blockjacobi::test
