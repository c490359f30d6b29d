// What the lines behind the size line must look like.
#include <blockjacobi/matrix_market.hpp>

#include "parse_failure.hpp"
#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <string>

namespace blockjacobi {
namespace {

using test::ScratchFolder;

/// Sparse and dense reader share the parser: both must say the same.
template <Scalar T = double>
void expect_failure(const std::string& content, offset_t line, const std::string& message) {
  const ScratchFolder folder;
  const auto path = folder.write("bad.mtx", "%%MatrixMarket matrix " + content);
  test::expect_parse_error(path, line, message, [&] { static_cast<void>(read_matrix_market<T>(path)); });
  test::expect_parse_error(path, line, message, [&] { static_cast<void>(read_matrix_market_dense<T>(path)); });
}

TEST(MatrixMarketEntriesErrors, TooFewEntries) {
  expect_failure("coordinate real general\n2 2 3\n1 1 1\n2 2 2\n", 4, "the file ends after 2 of 3 entries");
  expect_failure("coordinate real general\n2 2 3\n1 1 1\n2 2 2\n\n% end\n", 6, "the file ends after 2 of 3 entries");
  expect_failure("coordinate real general\n2 2 3\n", 2, "the file ends after 0 of 3 entries");
  expect_failure("array real general\n2 2\n1\n2\n3\n", 5, "the file ends after 3 of 4 entries");
  expect_failure("array real symmetric\n2 2\n1\n2\n", 4, "the file ends after 2 of 3 entries");
  expect_failure("array real skew-symmetric\n3 3\n1\n2\n", 4, "the file ends after 2 of 3 entries");
}

TEST(MatrixMarketEntriesErrors, HugeCountsReserveNothing) {
  expect_failure("coordinate real general\n2 2 1000000000000000\n1 1 1\n", 3,
                 "the file ends after 1 of 1000000000000000 entries");
  expect_failure("coordinate pattern general\n2 2 9223372036854775807\n1 1\n", 3,
                 "the file ends after 1 of 9223372036854775807 entries");
  expect_failure("array real general\n2147483647 2147483647\n1\n", 3,
                 "the file ends after 1 of 4611686014132420609 entries");
  expect_failure("array real symmetric\n2147483647 2147483647\n1\n", 3,
                 "the file ends after 1 of 2305843008139952128 entries");
}

TEST(MatrixMarketEntriesErrors, TooManyEntries) {
  expect_failure("coordinate real general\n2 2 1\n1 1 1\n\n2 2 2\n", 5,
                 "more than the 1 entries that the 2 x 2 coordinate matrix announces: '2 2 2'");
  expect_failure("coordinate real general\n2 2 0\njunk\n", 3, "more than the 0 entries");
  expect_failure("array real general\n2 1\n1\n2\n3\n", 5,
                 "more than the 2 entries that the 2 x 1 array matrix announces: '3'");
  expect_failure("array real symmetric\n2 2\n1\n2\n3\n4\n", 6, "more than the 3 entries");
}

TEST(MatrixMarketEntriesErrors, TruncatedLines) {
  expect_failure("coordinate real general\n2 2 1\n1\n", 3, "expected a column index behind '1'");
  expect_failure("coordinate real general\n2 2 1\n1 1\n", 3, "expected a value behind '1 1'");
  expect_failure("coordinate real general\n2 2 1\n1 1", 3, "expected a value behind '1 1'");
  expect_failure<std::complex<double>>("coordinate complex general\n2 2 1\n1 1 1\n", 3,
                                       "expected a value behind '1 1 1'");
}

TEST(MatrixMarketEntriesErrors, TrailingJunk) {
  expect_failure("coordinate real general\n2 2 1\n1 1 1 5\n", 3, "unexpected '5' at the end of '1 1 1 5'");
  expect_failure("coordinate pattern general\n2 2 1\n1 1 1\n", 3, "unexpected '1' at the end of '1 1 1'");
  expect_failure("coordinate integer general\n2 2 1\n1 1 1 x\n", 3, "unexpected 'x'");
  expect_failure("array real general\n1 2\n1 2\n", 3, "unexpected '2' at the end of '1 2'");
}

TEST(MatrixMarketEntriesErrors, IndicesOutOfRange) {
  expect_failure("coordinate real general\n2 3 1\n0 1 1\n", 3, "row index '0' is outside 1..2");
  expect_failure("coordinate real general\n2 3 1\n1 0 1\n", 3, "column index '0' is outside 1..3");
  expect_failure("coordinate real general\n2 3 1\n3 1 1\n", 3, "row index '3' is outside 1..2");
  expect_failure("coordinate real general\n2 3 1\n2 4 1\n", 3, "column index '4' is outside 1..3");
  expect_failure("coordinate real general\n2 3 1\n-1 1 1\n", 3, "row index '-1' is outside 1..2");
  expect_failure("coordinate real general\n2 3 1\n4294967297 1 1\n", 3, "row index '4294967297' is outside 1..2");
  expect_failure("coordinate real general\n2 3 1\n1 18446744073709551617 1\n", 3,
                 "column index '18446744073709551617' is outside 1..3");
  expect_failure("coordinate real general\n0 0 1\n1 1 1\n", 3, "row index '1' is outside 1..0");
}

TEST(MatrixMarketEntriesErrors, IndicesThatAreNone) {
  expect_failure("coordinate real general\n2 3 1\n1.0 1 1\n", 3, "'1.0' is not a row index");
  expect_failure("coordinate real general\n2 3 1\n1 b 1\n", 3, "'b' is not a column index");
  expect_failure("coordinate real general\n2 3 1\nnan 1 1\n", 3, "'nan' is not a row index");
}

TEST(MatrixMarketEntriesErrors, Values) {
  expect_failure("coordinate real general\n2 3 1\n1 1 NaN\n", 3, "'NaN' is not a finite number");
  expect_failure("coordinate real general\n2 3 1\n1 1 1e999\n", 3, "'1e999' is beyond the range of double precision");
  expect_failure<float>("coordinate real general\n2 3 1\n1 1 1e300\n", 3,
                        "'1e300' is beyond the range of single precision");
  expect_failure("coordinate integer general\n2 3 1\n1 1 1.5\n", 3, "'1.5' is not an integer");
}

TEST(MatrixMarketEntriesErrors, SymmetricFilesHoldTheLowerTriangle) {
  expect_failure("coordinate real symmetric\n3 3 2\n1 1 1\n2 3 1\n", 4,
                 "entry (2, 3) lies above the diagonal; a symmetric file holds the lower triangle");
  expect_failure("coordinate pattern symmetric\n3 3 1\n1 3\n", 3, "entry (1, 3) lies above the diagonal");
  expect_failure("coordinate integer skew-symmetric\n3 3 1\n1 3 4\n", 3,
                 "entry (1, 3) lies above the diagonal; a skew-symmetric file");
  expect_failure<std::complex<double>>("coordinate complex hermitian\n3 3 1\n1 3 4 0\n", 3,
                                       "entry (1, 3) lies above the diagonal; a hermitian file");
}

TEST(MatrixMarketEntriesErrors, SkewSymmetricFilesHoldNoDiagonal) {
  expect_failure("coordinate real skew-symmetric\n3 3 1\n2 2 0\n", 3,
                 "entry (2, 2) lies on the diagonal, which a skew-symmetric file does not hold");
}

TEST(MatrixMarketEntriesErrors, HermitianDiagonalsAreReal) {
  using Z = std::complex<double>;
  expect_failure<Z>("coordinate complex hermitian\n3 3 2\n1 1 1 -0\n2 2 1 0.25\n", 4,
                    "entry (2, 2) of a hermitian matrix must be real, its imaginary part is 0.25");
  expect_failure<Z>("array complex hermitian\n2 2\n1 0\n2 3\n4 -5\n", 5,
                    "entry (2, 2) of a hermitian matrix must be real, its imaginary part is -5");
}

TEST(MatrixMarketEntriesErrors, ComplexIntoReal) {
  expect_failure<float>("coordinate complex general\n1 1 1\n1 1 1 0\n", 1,
                        "a complex matrix cannot be read into the real scalar type 's'");
  expect_failure<double>("array complex symmetric\n1 1\n1 0\n", 1,
                         "a complex matrix cannot be read into the real scalar type 'd'");
}

}  // namespace
}  // namespace blockjacobi
