#include <blockjacobi/blockjacobi.hpp>

#include <gtest/gtest.h>

#include <limits>

namespace blockjacobi::test {
namespace {

TEST(BlockDefect, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(describe({3, 10, 4, 2, 0.0}), "block 3 (rows 10..13): pivot 2 is exactly zero");
  EXPECT_EQ(describe({3, 10, 4, 5, 1.5e-17}),
            "block 3 (rows 10..13): singular to working precision, reciprocal condition 1.50e-17");
  EXPECT_EQ(describe({0, 0, 4, -(1 + 1 + 2 * 4), 0.0}),
            "block 0 (rows 0..3): element (1, 2) of the matrix is NaN or Inf");
  EXPECT_EQ(describe({1, 4, 4, -(1 + 1 + 1 * 4), 0.0, 9}),
            "block 1 (rows 4..7): element (5, 9) of the matrix is NaN or Inf");
  EXPECT_EQ(describe({0, 0, 1, 2, 1.0, -1, {}, true}),
            "block 0 (rows 0..0): its inverse overflows, reciprocal condition 1.00e+00");
}

TEST(BlockDefect, NamesTheRowsOfTheUser) {
  BlockJacobiReport report;
  report.rows = 14;
  report.defects = {{0, 0, 2, 1, 0.0}, {1, 2, 2, -(1 + 1 + 0 * 2), 0.0}, {2, 4, 10, 11, 1e-17}, {1, 2, 2, -1, 0.0, 13}};
  const auto permutation = Permutation::from_order({0, 3, 1, 4, 13, 12, 11, 10, 9, 8, 7, 6, 5, 2});
  report = in_original_rows(report, permutation);
  EXPECT_EQ(describe(report.defects[0]), "block 0 (rows 0, 3): pivot 1 is exactly zero");
  EXPECT_EQ(describe(report.defects[1]), "block 1 (rows 1, 4): element (4, 1) of the matrix is NaN or Inf");
  EXPECT_EQ(describe(report.defects[2]),
            "block 2 (rows 13, 12, 11, 10, 9, 8, 7, 6 and 2 more): singular to working precision, reciprocal condition "
            "1.00e-17");
  EXPECT_EQ(describe(report.defects[3]), "block 1 (rows 1, 4): element (1, 2) of the matrix is NaN or Inf");
  EXPECT_NE(to_json(report).find(R"("original_rows": [0, 3])"), std::string::npos);
  EXPECT_THROW((void)in_original_rows(report, permutation), InvalidArgument) << "twice";
  EXPECT_THROW((void)in_original_rows({}, Permutation::identity(3)), InvalidArgument);
}

TEST(BlockJacobiReport, TextNamesTheFirstTenDefectsAndCountsTheRest) {
  BlockJacobiReport report;
  report.rows = 26;
  report.blocks = 13;
  report.sizes = {{2, 13}};
  report.bytes = 2'000'000;
  report.entries_inside = 0.5;
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

TEST(BlockJacobiReport, TextNamesTheFormats) {
  BlockJacobiReport report;
  EXPECT_EQ(to_text(report).find("storage"), std::string::npos) << "full storage goes without saying";
  report.storage = Storage::adaptive;
  report.formats = {{Storage::full, 3}, {Storage::fp16, 12}};
  report.inverse_bytes = 1'250'000;
  EXPECT_NE(to_text(report).find("  storage adaptive: 3 full, 12 fp16, 1.25 MB\n"), std::string::npos);
  report.unsuited_blocks = 2;
  report.first_unsuited = 5;
  EXPECT_NE(to_text(report).find("1.25 MB; 2 blocks beyond the accuracy (first: block 5)\n"), std::string::npos);
  report.storage = Storage::fp16;
  report.unsuited_blocks = 1;
  EXPECT_NE(to_text(report).find("; 1 block with a row or column stored as zeros (first: block 5)\n"),
            std::string::npos);
}

TEST(BlockJacobiReport, Json) {
  BlockJacobiReport report;
  report.scalar = ScalarType::z;
  report.rows = 7;
  report.blocks = 2;
  report.sizes = {{3, 1}, {4, 1}};
  report.bytes = 1000;
  report.entries_inside = 0.5;
  report.policy = SingularPolicy::shift;
  report.singular_blocks = report.non_finite_blocks = 1;
  report.min_rcond_block = -1;
  report.defects = {{0, 0, 3, 2, 0.0}, {1, 3, 4, -1, std::numeric_limits<double>::quiet_NaN()}};
  report.storage = Storage::packed;
  report.formats = {{Storage::packed, 2}};
  report.inverse_bytes = 256;
  EXPECT_EQ(
      to_json(report),
      R"({"scalar": "z", "rows": 7, "blocks": 2, "sizes": [{"rows": 3, "count": 1}, {"rows": 4, "count": 1}], )"
      R"("entries_inside": 0.5, "bytes": 1000, "storage": "packed", "formats": [{"storage": "packed", "count": 2}], )"
      R"("inverse_bytes": 256, "unsuited_blocks": 0, "first_unsuited": -1, "singular_policy": "shift", )"
      R"("singular_blocks": 1, "non_finite_blocks": 1, "min_rcond": 1, "min_rcond_block": -1, "defects": )"
      R"([{"block": 0, "first_row": 0, "rows": 3, "info": 2, "rcond": 0}, )"
      R"({"block": 1, "first_row": 3, "rows": 4, "info": -1, "rcond": null}], )"
      R"("captured": null, "max_growth": null, "max_growth_block": -1, "times": null})");
  report.captured = 0.25;
  report.max_growth = 8.0;
  report.max_growth_block = 1;
  const std::string with_matrix = to_json(report);
  EXPECT_NE(with_matrix.find(R"("captured": 0.25, "max_growth": 8, "max_growth_block": 1, "times": null})"),
            std::string::npos);
  const std::string text = to_text(report);
  EXPECT_NE(text.find("  captured weight 25.0 %\n  largest pivot growth 8.00e+00 (block 1)\n"), std::string::npos);
  report.defects[1].outside = 0;
  EXPECT_NE(to_json(report).find(R"("info": -1, "rcond": null, "outside": 0}])"), std::string::npos);
}

TEST(BlockJacobiReport, TimesOfThePhases) {
  BlockJacobiReport report;
  report.times = {0.5, 0.0625, 0.0, 0.125};
  EXPECT_NE(to_text(report).find("  analysis 500.00 ms, inversion 62.50 ms, repair 0.00 ms, storage 125.00 ms\n"),
            std::string::npos);
  EXPECT_NE(to_json(report).find(R"("times": {"analysis": 0.5, "inversion": 0.0625, "repair": 0, "storage": 0.125}})"),
            std::string::npos);
}

TEST(BlockJacobiReport, TextOfALongHistogramKeepsItsEnds) {
  BlockJacobiReport report;
  for (index_t size = 1; size <= 20; ++size) report.sizes.emplace_back(size, 1);
  EXPECT_NE(to_text(report).find("1 x 8, ..., 1 x 20"), std::string::npos);
}

}  // namespace
}  // namespace blockjacobi::test
