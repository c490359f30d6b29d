// Numbers and blanks, seen through files of one column.
#include <blockjacobi/matrix_market.hpp>

#include "parse_failure.hpp"
#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace blockjacobi {
namespace {

using test::ScratchFolder;

template <Scalar T>
T read_one(const std::string& field, const std::string& text) {
  const ScratchFolder folder;
  const auto matrix = read_matrix_market_dense<T>(
      folder.write("a.mtx", "%%MatrixMarket matrix array " + field + " general\n1 1\n" + text + "\n"));
  return matrix.values.at(0);
}

template <Scalar T>
void expect_failure(const std::string& field, const std::string& text, const std::string& message) {
  const ScratchFolder folder;
  const auto path =
      folder.write("bad.mtx", "%%MatrixMarket matrix array " + field + " general\n% c\n1 1\n" + text + "\n");
  test::expect_parse_error(path, 4, message, [&] { static_cast<void>(read_matrix_market_dense<T>(path)); });
}

TEST(FieldReaderTest, RealNumbersInEveryNotation) {
  const struct {
    const char* text;
    double value;
  } cases[] = {{"1", 1.0},
               {"-1", -1.0},
               {"+1", 1.0},
               {"1.", 1.0},
               {".5", 0.5},
               {"-.5", -0.5},
               {"+.5", 0.5},
               {"1e3", 1e3},
               {"1E3", 1e3},
               {"1e+3", 1e3},
               {"1E-3", 1e-3},
               {"+1.5e+003", 1500.0},
               {"1d3", 1e3},
               {"-1.25D+02", -125.0},
               {"+1.25D-02", 0.0125},
               {"00012.50", 12.5},
               {"  7 ", 7.0},
               {"\t7\t", 7.0},
               {"0", 0.0},
               {"1.7976931348623157e308", 1.7976931348623157e308}};
  for (const auto& c : cases) EXPECT_EQ(read_one<double>("real", c.text), c.value) << c.text;
}

TEST(FieldReaderTest, RealNumbersAreRoundedOnceAndCorrectly) {
  EXPECT_EQ(read_one<double>("real", "0.1"), 0.1);
  EXPECT_EQ(read_one<float>("real", "0.1"), 0.1F);
  EXPECT_EQ(read_one<double>("real", "9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(read_one<double>("real", "9007199254740993.00000000000000000000000000000000001"), 9007199254740994.0);
  // Just above half way between two floats; rounding to double first would give the lower one.
  EXPECT_EQ(read_one<float>("real", "1.000000059604644775390625000000001"), std::nextafter(1.0F, 2.0F));
  EXPECT_EQ(read_one<float>("real", "1.000000059604644775390625"), 1.0F);
}

TEST(FieldReaderTest, UnderflowIsAcceptedAndKeepsTheSign) {
  EXPECT_EQ(read_one<double>("real", "4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(read_one<double>("real", "2.5e-310"), 2.5e-310);
  EXPECT_EQ(read_one<float>("real", "1e-40"), 1e-40F);
  for (const char* text : {"1e-400", "1E-400", "1d-400", "0.001e-9999999999999999999999", "1e-9223372036854775807"}) {
    EXPECT_EQ(read_one<double>("real", text), 0.0) << text;
    EXPECT_FALSE(std::signbit(read_one<double>("real", text))) << text;
    EXPECT_TRUE(std::signbit(read_one<double>("real", std::string("-") + text))) << text;
  }
  EXPECT_EQ(read_one<float>("real", "1e-300"), 0.0F);
  EXPECT_EQ(read_one<double>("real", "0." + std::string(400, '0') + "1e10"), 0.0);
  EXPECT_EQ(read_one<double>("real", "0e999999999999999999999"), 0.0);
  EXPECT_TRUE(std::signbit(read_one<double>("real", "-0")));
}

TEST(FieldReaderTest, LongNumbers) {
  EXPECT_EQ(read_one<double>("real", "1" + std::string(200, '0') + "e-200"), 1.0);
  EXPECT_EQ(read_one<double>("real", "0." + std::string(300, '0') + "1e301"), 1.0);
  EXPECT_EQ(read_one<double>("real", std::string(1000, '0') + "1"), 1.0);
}

TEST(FieldReaderTest, IntegersOfEveryLength) {
  EXPECT_EQ(read_one<double>("integer", "-42"), -42.0);
  EXPECT_EQ(read_one<double>("integer", "+42"), 42.0);
  EXPECT_EQ(read_one<double>("integer", "9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(read_one<double>("integer", "9223372036854775807"), 9223372036854775808.0);
  EXPECT_EQ(read_one<double>("integer", "123456789012345678901234567890"), 1.2345678901234568e29);
  EXPECT_EQ(read_one<double>("integer", "-123456789012345678901234567890"), -1.2345678901234568e29);
  EXPECT_EQ(read_one<float>("integer", "16777217"), 16777216.0F);
  EXPECT_EQ(read_one<std::complex<float>>("integer", "5"), std::complex<float>(5.0F, 0.0F));
}

TEST(FieldReaderTest, ComplexNumbers) {
  using Z = std::complex<double>;
  EXPECT_EQ(read_one<Z>("complex", "1.5 -2"), Z(1.5, -2.0));
  EXPECT_EQ(read_one<Z>("complex", "+1D1\t+2D-1"), Z(10.0, 0.2));
  EXPECT_EQ(read_one<Z>("real", "3"), Z(3.0, 0.0));
}

TEST(FieldReaderErrors, MalformedNumbers) {
  for (const char* text : {"abc", "1x", "--1", "+-1", "-+1", "+", "-", ".", "1e", "1e+", "1.2.3", "0x10", "1,5", "1d",
                           "1e5e5", "1dd5", "e5", "1_000"})
    expect_failure<double>("real", text, std::string("'") + text + "' is not a number");
  for (const char* text : {"1.0", "1e3", "abc", "0x10", "--1", "+-1", "-", "nan", "inf", "12345678901234567890123.5"})
    expect_failure<double>("integer", text, std::string("'") + text + "' is not an integer");
}

TEST(FieldReaderErrors, NotFinite) {
  for (const char* text :
       {"nan", "NaN", "-nan", "+nan", "NAN", "nan(123)", "inf", "Inf", "-inf", "+Infinity", "INFINITY"}) {
    expect_failure<double>("real", text, std::string("'") + text + "' is not a finite number");
    expect_failure<float>("real", text, std::string("'") + text + "' is not a finite number");
  }
  expect_failure<std::complex<double>>("complex", "1 nan", "'nan' is not a finite number");
}

TEST(FieldReaderErrors, BeyondTheRange) {
  for (const char* text : {"1e309", "-1e309", "+1e400", "1D400", "1e99999999999999999999", "1.8e308"})
    expect_failure<double>("real", text, std::string("'") + text + "' is beyond the range of double precision");
  for (const char* text : {"1e300", "3.5e38", "-1e39"})
    expect_failure<float>("real", text, std::string("'") + text + "' is beyond the range of single precision");
  expect_failure<std::complex<float>>("complex", "0 1e300", "'1e300' is beyond the range of single precision");
  expect_failure<double>("integer", "1" + std::string(400, '0'), "is beyond the range of double precision");
  expect_failure<float>("integer", "1" + std::string(39, '0'), "is beyond the range of single precision");
}

TEST(FieldReaderErrors, MissingAndSuperfluousFields) {
  expect_failure<std::complex<double>>("complex", "1.5", "expected a value behind '1.5'");
  expect_failure<double>("real", "1 2", "unexpected '2' at the end of '1 2'");
  expect_failure<double>("real", "1 % note", "unexpected '% note' at the end of '1 % note'");
  expect_failure<std::complex<double>>("complex", "1 2 3", "unexpected '3'");
  expect_failure<double>("real", "1\r2", "is not a number");
}

TEST(FieldReaderErrors, MessagesAreShortAndPrintable) {
  expect_failure<double>("real", std::string(5000, 'x'), "'" + std::string(60, 'x') + "...' is not a number");
  expect_failure<double>("real", std::string("1\x01\x7f", 3), "'1\\x01\\x7f' is not a number");
  expect_failure<double>("real", std::string("1\0002", 3), "'1\\x002' is not a number");
}

}  // namespace
}  // namespace blockjacobi
