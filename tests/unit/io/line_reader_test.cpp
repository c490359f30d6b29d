// Line ends, line numbers and buffer borders, seen through matrix files.
#include <blockjacobi/matrix_market.hpp>

#include "parse_failure.hpp"
#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <string>

namespace blockjacobi {
namespace {

using test::ScratchFolder;

constexpr std::size_t buffer_size = std::size_t{1} << 20;

TEST(LineReaderTest, EveryLineEnd) {
  const std::string unix_text =
      "%%MatrixMarket matrix coordinate real general\n% c\n\n2 2 2\n\n1 1 5\n%c\n \n2 2 6\n\n";
  std::string dos_text;
  for (const char c : unix_text) dos_text += c == '\n' ? "\r\n" : std::string(1, c);
  const ScratchFolder folder;
  for (const std::string& text : {unix_text, dos_text})
    for (std::size_t missing : {0U, 1U, 2U}) {
      const auto a = read_matrix_market<double>(folder.write("a.mtx", text.substr(0, text.size() - missing)));
      EXPECT_EQ(a.nnz(), 2);
      EXPECT_EQ(a.values()[1], 6.0);
    }
  const auto path = folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\r\n1 1 1\r\n1 1 5");
  EXPECT_EQ(read_matrix_market<double>(path).values()[0], 5.0);
}

TEST(LineReaderTest, LineNumbersCountEveryKindOfLine) {
  const ScratchFolder folder;
  const std::string head = "%%MatrixMarket matrix coordinate real general\r\n% c\n\n%\n2 2 3\r\n1 1 1\n\n% c\n";
  const auto path = folder.write("a.mtx", head + "1 x 1\n");
  test::expect_parse_error(path, 9, "'x' is not a column index",
                           [&] { static_cast<void>(read_matrix_market<double>(path)); });
}

TEST(LineReaderTest, LinesAcrossBufferBordersAtEveryOffset) {
  const ScratchFolder folder;
  for (std::size_t shift = 0; shift < 24; ++shift) {
    std::string text = "%%MatrixMarket matrix array real general\n";
    // Two comments fill the buffer up to a border that then falls into the lines behind them.
    text += "%" + std::string(buffer_size / 2, '-') + "\n";
    text += "%" + std::string(buffer_size - text.size() - 2 - shift, '-') + "\n";
    ASSERT_EQ(text.size(), buffer_size - shift);
    text += "3 1\n1.25\r\n-2.5e-3\n123456\n";
    const auto x = read_matrix_market_dense<double>(folder.write("a.mtx", text));
    EXPECT_EQ(x.values, (std::vector<double>{1.25, -2.5e-3, 123456.0})) << shift;
  }
}

TEST(LineReaderTest, LineNumbersSurviveManyBuffers) {
  const ScratchFolder folder;
  std::string text = "%%MatrixMarket matrix array real general\n300000 1\n";
  for (int i = 0; i < 300000; ++i) text += std::to_string(i) + ".5\n";
  const auto x = read_matrix_market_dense<double>(folder.write("a.mtx", text));
  ASSERT_EQ(x.values.size(), 300000U);
  for (std::size_t i = 0; i < x.values.size(); ++i) ASSERT_EQ(x.values[i], static_cast<double>(i) + 0.5);

  text.replace(text.find("\n299990.5\n"), 10, "\n299990,5\n");
  const auto path = folder.write("bad.mtx", text);
  test::expect_parse_error(path, 299993, "'299990,5' is not a number",
                           [&] { static_cast<void>(read_matrix_market_dense<double>(path)); });
}

TEST(LineReaderTest, RefusesEndlessLines) {
  const ScratchFolder folder;
  const auto path = folder.write(
      "a.mtx", "%%MatrixMarket matrix array real general\n%" + std::string(3 * buffer_size, 'z') + "\n1 1\n1\n");
  test::expect_parse_error(path, 2, "the line is longer than 1048576 bytes: '%zzz",
                           [&] { static_cast<void>(read_matrix_market_dense<double>(path)); });
}

TEST(LineReaderTest, RefusesBinaryData) {
  const ScratchFolder folder;
  std::string bytes;
  for (int i = 0; i < 4096; ++i) bytes += static_cast<char>(i * 37 % 256);
  const auto path = folder.write("a.mtx", bytes);
  test::expect_parse_error(path, 1, "begins with '%%MatrixMarket matrix'",
                           [&] { static_cast<void>(read_matrix_market<double>(path)); });
}

}  // namespace
}  // namespace blockjacobi
