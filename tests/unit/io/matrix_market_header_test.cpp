#include <blockjacobi/matrix_market.hpp>

#include "parse_failure.hpp"
#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace blockjacobi {
namespace {

using test::ScratchFolder;

void expect_header(const std::string& text, MatrixMarketFormat format, MatrixMarketField field,
                   MatrixMarketSymmetry symmetry, index_t rows, index_t cols, offset_t entries) {
  const ScratchFolder folder;
  const MatrixMarketHeader h = read_matrix_market_header(folder.write("a.mtx", text));
  EXPECT_EQ(h.format, format) << text;
  EXPECT_EQ(h.field, field) << text;
  EXPECT_EQ(h.symmetry, symmetry) << text;
  EXPECT_EQ(h.rows, rows) << text;
  EXPECT_EQ(h.cols, cols) << text;
  EXPECT_EQ(h.entries, entries) << text;
}

void expect_failure(const std::string& content, offset_t line, const std::string& message) {
  const ScratchFolder folder;
  const auto path = folder.write("bad.mtx", content);
  test::expect_parse_error(path, line, message, [&] { static_cast<void>(read_matrix_market_header(path)); });
}

TEST(MatrixMarketHeaderTest, EveryCombinationTheFormatAllows) {
  using Format = MatrixMarketFormat;
  using Field = MatrixMarketField;
  using Symmetry = MatrixMarketSymmetry;
  const struct {
    const char* name;
    Field value;
  } fields[] = {
      {"real", Field::real}, {"integer", Field::integer}, {"pattern", Field::pattern}, {"complex", Field::complex}};
  const struct {
    const char* name;
    Symmetry value;
    offset_t array_entries;  // of a 4 x 4 matrix
  } symmetries[] = {{"general", Symmetry::general, 16},
                    {"symmetric", Symmetry::symmetric, 10},
                    {"skew-symmetric", Symmetry::skew_symmetric, 6},
                    {"hermitian", Symmetry::hermitian, 10}};
  int allowed = 0;
  for (const auto& field : fields)
    for (const auto& symmetry : symmetries) {
      const bool hermitian_fits = symmetry.value != Symmetry::hermitian || field.value == Field::complex;
      const bool pattern = field.value == Field::pattern;
      const std::string kind = std::string(field.name) + " " + symmetry.name;
      const std::string coordinate = "%%MatrixMarket matrix coordinate " + kind + "\n4 4 3\n";
      const std::string array = "%%MatrixMarket matrix array " + kind + "\n4 4\n";
      if (hermitian_fits && !(pattern && symmetry.value == Symmetry::skew_symmetric)) {
        expect_header(coordinate, Format::coordinate, field.value, symmetry.value, 4, 4, 3);
        ++allowed;
      } else {
        expect_failure(coordinate, 1, "does not allow the combination 'coordinate " + kind + "'");
      }
      if (hermitian_fits && !pattern) {
        expect_header(array, Format::array, field.value, symmetry.value, 4, 4, symmetry.array_entries);
        ++allowed;
      } else {
        expect_failure(array, 1, "does not allow the combination 'array " + kind + "'");
      }
    }
  EXPECT_EQ(allowed, 12 + 10);
}

TEST(MatrixMarketHeaderTest, BlockSizesOfComments) {
  const ScratchFolder folder;
  const auto block_size = [&](const std::string& comments, const std::string& sizes = "12 12 1\n") {
    const auto path = folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n" + comments + sizes);
    return read_matrix_market_header(path).block_size;
  };
  EXPECT_EQ(block_size("% ISTL_STRUCT blocked 3 3\n"), 3);
  EXPECT_EQ(block_size("% written by a program\n  %  ISTL_STRUCT\tblocked 4  4 \n\n"), 4);
  EXPECT_EQ(block_size("%%AMGX 2 2 sorted rhs\n"), 2);
  EXPECT_EQ(block_size("%%AMGX 2 2\n% ISTL_STRUCT blocked 6 6\n"), 6);
  EXPECT_EQ(block_size("% ISTL_STRUCT blocked 3 3\n", "12 6 1\n"), 3);
  EXPECT_EQ(block_size("% ISTL_STRUCT blocked 512 512\n", "1024 1024 1\n"), 512);
  for (const char* comments :
       {"", "% blocked 3 3\n", "% ISTL_STRUCT blocked 3 1\n", "% ISTL_STRUCT blocked 3\n", "% ISTL_STRUCT blocked\n",
        "% ISTL_STRUCT blocked 5 5\n", "% ISTL_STRUCT blocked 0 0\n", "% ISTL_STRUCT blocked -3 -3\n",
        "% ISTL_STRUCT blocked 3x 3x\n", "% ISTL_STRUCT blocked 99999999999 99999999999\n", "%%AMGX rhs\n",
        "%%AMGX sorted rhs\n", "%%AMGX\n", "%\n", "% ISTL_STRUCT blocked 3 3\n% ISTL_STRUCT blocked 3 1\n"})
    EXPECT_EQ(block_size(comments), std::nullopt) << comments;
  EXPECT_EQ(block_size("% ISTL_STRUCT blocked 3 3\n", "12 4 1\n"), std::nullopt) << "columns";
  EXPECT_EQ(block_size("% ISTL_STRUCT blocked 513 513\n", "1026 1026 1\n"), std::nullopt);
}

TEST(MatrixMarketHeaderTest, IgnoresCaseCommentsBlanksAndLineEnds) {
  using enum MatrixMarketFormat;
  const auto check = [](const std::string& text) {
    expect_header(text, coordinate, MatrixMarketField::complex, MatrixMarketSymmetry::skew_symmetric, 7, 7, 2);
  };
  check("%%MATRIXMARKET Matrix COORDINATE Complex Skew-Symmetric\n7 7 2\n");
  check("%%matrixmarket\tmatrix   coordinate complex skew-symmetric  \n%\n% text\n\n   \n  % more\n\t7  +7\t2 \n");
  check("%%MatrixMarket matrix coordinate complex skew-symmetric\r\n% text\r\n\r\n7 7 2\r\n");
  check("%%MatrixMarket matrix coordinate complex skew-symmetric\n7 7 2");
}

TEST(MatrixMarketHeaderTest, NamesTheLineOfTheSizes) {
  const ScratchFolder folder;
  const auto path = folder.write("a.mtx", "%%MatrixMarket matrix array real general\n% text\n\n2 1\n1\n2\n");
  EXPECT_EQ(read_matrix_market_header(path).size_line, 4);
}

TEST(MatrixMarketHeaderTest, LargestSizes) {
  expect_header("%%MatrixMarket matrix coordinate real general\n2147483647 2147483647 9223372036854775807\n",
                MatrixMarketFormat::coordinate, MatrixMarketField::real, MatrixMarketSymmetry::general, 2147483647,
                2147483647, 9223372036854775807);
  expect_header("%%MatrixMarket matrix array real general\n2147483647 2147483647\n", MatrixMarketFormat::array,
                MatrixMarketField::real, MatrixMarketSymmetry::general, 2147483647, 2147483647, 4611686014132420609);
  expect_header("%%MatrixMarket matrix array real skew-symmetric\n0 0\n", MatrixMarketFormat::array,
                MatrixMarketField::real, MatrixMarketSymmetry::skew_symmetric, 0, 0, 0);
}

TEST(MatrixMarketHeaderErrors, Banner) {
  expect_failure("", 1, "the file is empty");
  expect_failure("\n%%MatrixMarket matrix coordinate real general\n1 1 0\n", 1, "this one with ''");
  expect_failure("1 1 0\n", 1, "begins with '%%MatrixMarket matrix', this one with '1 1 0'");
  expect_failure("%MatrixMarket matrix coordinate real general\n", 1, "'%MatrixMarket matrix");
  expect_failure("%%MatrixMarket\n", 1, "this one with '%%MatrixMarket'");
  expect_failure("%%MatrixMarket vector coordinate real general\n", 1, "this one with '%%MatrixMarket vector");
  expect_failure("%%MatrixMarket matrix\n", 1, "expected a format behind '%%MatrixMarket matrix'");
  expect_failure("%%MatrixMarket matrix elemental real general\n", 1, "'elemental' is not a format, one of coordinate");
  expect_failure("%%MatrixMarket matrix array\n", 1, "expected a field");
  expect_failure("%%MatrixMarket matrix array quaternion general\n", 1,
                 "'quaternion' is not a field, one of real, integer, pattern, complex");
  expect_failure("%%MatrixMarket matrix array real\n", 1, "expected a symmetry");
  expect_failure("%%MatrixMarket matrix array real skew\n", 1,
                 "'skew' is not a symmetry, one of general, symmetric, skew-symmetric, hermitian");
  expect_failure("%%MatrixMarket matrix array real general 1\n", 1, "unexpected '1' at the end of");
}

TEST(MatrixMarketHeaderErrors, SizeLine) {
  const std::string coordinate = "%%MatrixMarket matrix coordinate real general\n% c\n";
  expect_failure(coordinate, 2, "the file ends before the size line");
  expect_failure(coordinate + "3\n", 3, "expected a number of columns behind '3'");
  expect_failure(coordinate + "\n3 4\n", 4, "expected a number of entries behind '3 4'");
  expect_failure(coordinate + "3 4 5 6\n", 3, "unexpected '6' at the end of '3 4 5 6'");
  expect_failure(coordinate + "x 4 5\n", 3, "'x' is not a number of rows");
  expect_failure(coordinate + "3 4.0 5\n", 3, "'4.0' is not a number of columns");
  expect_failure(coordinate + "3 4 +\n", 3, "'+' is not a number of entries");
  expect_failure(coordinate + "3 4 +-5\n", 3, "'+-5' is not a number of entries");
  expect_failure(coordinate + "-3 4 5\n", 3, "number of rows '-3' is outside 0..2147483647");
  expect_failure(coordinate + "3 4 -5\n", 3, "number of entries '-5' is outside 0..9223372036854775807");
  expect_failure(coordinate + "2147483648 4 5\n", 3, "number of rows '2147483648' is outside 0..2147483647");
  expect_failure(coordinate + "4 2147483648 5\n", 3, "number of columns '2147483648' is outside 0..2147483647");
  expect_failure(coordinate + "3 4 9223372036854775808\n", 3, "number of entries '9223372036854775808' is outside");
  expect_failure(coordinate + "99999999999999999999999 4 5\n", 3, "'99999999999999999999999' is outside");

  const std::string array = "%%MatrixMarket matrix array real general\n";
  expect_failure(array + "3\n", 2, "expected a number of columns");
  expect_failure(array + "3 4 12\n", 2, "unexpected '12' at the end of '3 4 12'");
}

TEST(MatrixMarketHeaderErrors, SymmetryNeedsASquareMatrix) {
  expect_failure("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n", 2,
                 "a symmetric matrix must be square, this one is 3 x 4");
  expect_failure("%%MatrixMarket matrix array real skew-symmetric\n4 3\n", 2,
                 "a skew-symmetric matrix must be square, this one is 4 x 3");
  expect_failure("%%MatrixMarket matrix array complex hermitian\n4 3\n", 2, "a hermitian matrix must be square");
}

TEST(MatrixMarketHeaderTest, ReadsNothingBehindTheSizeLine) {
  expect_header("%%MatrixMarket matrix coordinate real general\n3 4 5\nnonsense\n", MatrixMarketFormat::coordinate,
                MatrixMarketField::real, MatrixMarketSymmetry::general, 3, 4, 5);
}

}  // namespace
}  // namespace blockjacobi
