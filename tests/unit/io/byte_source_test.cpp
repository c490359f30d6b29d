// Files that cannot be read and gzip data, seen through the reader.
#include <blockjacobi/matrix_market.hpp>

#include "parse_failure.hpp"
#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace blockjacobi {
namespace {

using test::ScratchFolder;

std::string bytes(std::initializer_list<int> list) {
  std::string s;
  for (const int b : list) s += static_cast<char>(b);
  return s;
}

/// gzip of "%%MatrixMarket matrix coordinate real general\n2 2 2\n".
const std::string head_gz =
    bytes({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x53, 0x55, 0xf5, 0x4d, 0x2c, 0x29, 0xca,
           0xac, 0xf0, 0x4d, 0x2c, 0xca, 0x4e, 0x2d, 0x51, 0xc8, 0x05, 0x73, 0x14, 0x92, 0xf3, 0xf3, 0x8b, 0x52,
           0x32, 0xf3, 0x12, 0x4b, 0x52, 0x15, 0x8a, 0x52, 0x13, 0x73, 0x14, 0xd2, 0x53, 0xf3, 0x52, 0x8b, 0x12,
           0x73, 0xb8, 0x8c, 0x14, 0x80, 0x90, 0x0b, 0x00, 0x6f, 0x84, 0x4d, 0xea, 0x34, 0x00, 0x00, 0x00});
/// gzip of "1 1 1.5\n2 1 -2\n".
const std::string tail_gz =
    bytes({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x33, 0x54, 0x30, 0x54, 0x30, 0xd4, 0x33,
           0xe5, 0x32, 0x02, 0xd2, 0xba, 0x46, 0x5c, 0x00, 0x27, 0x37, 0x30, 0xd9, 0x0f, 0x00, 0x00, 0x00});
/// gzip of both texts together.
const std::string whole_gz =
    bytes({0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0x53, 0x55, 0xf5, 0x4d, 0x2c, 0x29,
           0xca, 0xac, 0xf0, 0x4d, 0x2c, 0xca, 0x4e, 0x2d, 0x51, 0xc8, 0x05, 0x73, 0x14, 0x92, 0xf3, 0xf3,
           0x8b, 0x52, 0x32, 0xf3, 0x12, 0x4b, 0x52, 0x15, 0x8a, 0x52, 0x13, 0x73, 0x14, 0xd2, 0x53, 0xf3,
           0x52, 0x8b, 0x12, 0x73, 0xb8, 0x8c, 0x14, 0x80, 0x90, 0xcb, 0x50, 0x01, 0x08, 0xf5, 0x4c, 0x81,
           0x3c, 0x43, 0x05, 0x5d, 0x23, 0x2e, 0x00, 0xfc, 0xcb, 0x5a, 0x0d, 0x43, 0x00, 0x00, 0x00});

void expect_the_matrix(const std::filesystem::path& path) {
  const auto a = read_matrix_market<double>(path);
  ASSERT_EQ(a.nnz(), 2);
  EXPECT_EQ(a.rows(), 2);
  EXPECT_EQ(a.columns()[1], 0);
  EXPECT_EQ(a.values()[0], 1.5);
  EXPECT_EQ(a.values()[1], -2.0);
}

void expect_failure(const std::filesystem::path& path, offset_t line, const std::string& message) {
  test::expect_parse_error(path, line, message, [&] { static_cast<void>(read_matrix_market<double>(path)); });
  if (line <= 1)
    test::expect_parse_error(path, line, message, [&] { static_cast<void>(read_matrix_market_header(path)); });
}

TEST(ByteSourceTest, GzipMembers) {
  const ScratchFolder folder;
  expect_the_matrix(folder.write("one.mtx.gz", whole_gz));
  expect_the_matrix(folder.write("two.mtx.gz", head_gz + tail_gz));
  expect_the_matrix(folder.write("padded.mtx.gz", whole_gz + std::string(1000, '\0')));
}

TEST(ByteSourceTest, GzipLargerThanEveryBuffer) {
  const ScratchFolder folder;
  std::mt19937_64 engine(3);
  DenseMatrix<double> x{200000, 1, {}};
  for (int i = 0; i < 200000; ++i) x.values.push_back(static_cast<double>(engine()));
  write_matrix_market(folder / "x.mtx.gz", x);
  ASSERT_GT(std::filesystem::file_size(folder / "x.mtx.gz"), std::uintmax_t{1} << 20);
  EXPECT_EQ(read_matrix_market_dense<double>(folder / "x.mtx.gz").values, x.values);
}

TEST(ByteSourceErrors, NoSuchFile) {
  const ScratchFolder folder;
  for (const char* name : {"none.mtx", "none.mtx.gz", "no/folder.mtx"})
    expect_failure(folder / name, 0, "cannot open: No such file or directory");
}

TEST(ByteSourceErrors, Directory) {
  const ScratchFolder folder;
  for (const char* name : {"folder.mtx", "folder.mtx.gz"}) {
    std::filesystem::create_directory(folder / name);
    expect_failure(folder / name, 0, "is a directory");
  }
}

TEST(ByteSourceErrors, EmptyFile) {
  const ScratchFolder folder;
  expect_failure(folder.write("a.mtx", ""), 1, "the file is empty");
  expect_failure(folder.write("a.mtx.gz", ""), 1, "the file is empty");
}

TEST(ByteSourceErrors, TextNamedGzip) {
  const ScratchFolder folder;
  expect_failure(folder.write("a.mtx.gz", "%%MatrixMarket matrix coordinate real general\n1 1 0\n"), 1,
                 "the gzip data are corrupt: incorrect header check");
}

TEST(ByteSourceErrors, GzipNamedText) {
  const ScratchFolder folder;
  expect_failure(folder.write("a.mtx", whole_gz), 1, "gzip-packed data, but the name does not end in .gz");
}

TEST(ByteSourceErrors, GzipTruncatedAnywhere) {
  const ScratchFolder folder;
  for (std::size_t size = 1; size < whole_gz.size(); ++size) {
    const auto path = folder.write("a.mtx.gz", whole_gz.substr(0, size));
    try {
      static_cast<void>(read_matrix_market<double>(path));
      ADD_FAILURE() << size << " of " << whole_gz.size() << " bytes were accepted";
    } catch (const ParseError& error) {
      EXPECT_NE(std::string(error.what()).find("the gzip data are truncated"), std::string::npos) << error.what();
      EXPECT_GE(error.line(), 1);
      EXPECT_LE(error.line(), 5);
    }
  }
  // All the text is there, only the checksum is cut off: found where the file should end.
  expect_failure(folder.write("a.mtx.gz", whole_gz.substr(0, whole_gz.size() - 1)), 5, "truncated");
  expect_failure(folder.write("b.mtx.gz", head_gz + tail_gz.substr(0, 12)), 3, "truncated");
}

TEST(ByteSourceErrors, GzipCorruptAnywhere) {
  const ScratchFolder folder;
  // The bytes 4..9 hold time stamp, flags of the compressor and operating system, which no checksum covers.
  for (std::size_t i = 10; i < whole_gz.size(); ++i) {
    std::string broken = whole_gz;
    broken[i] = static_cast<char>(broken[i] ^ 0x55);
    EXPECT_THROW(static_cast<void>(read_matrix_market<double>(folder.write("a.mtx.gz", broken))), ParseError) << i;
  }
  // Found before the first line is handed out: corrupt data are no text worth parsing.
  std::string wrong_checksum = whole_gz;
  wrong_checksum[whole_gz.size() - 5] = 'x';
  expect_failure(folder.write("a.mtx.gz", wrong_checksum), 1, "the gzip data are corrupt: incorrect data check");
  std::string wrong_length = whole_gz;
  wrong_length[whole_gz.size() - 4] = 'x';
  expect_failure(folder.write("a.mtx.gz", wrong_length), 1, "the gzip data are corrupt: incorrect length check");
}

TEST(ByteSourceErrors, JunkBehindGzip) {
  const ScratchFolder folder;
  expect_failure(folder.write("a.mtx.gz", whole_gz + "junk"), 5, "the gzip data are corrupt: incorrect header check");
}

}  // namespace
}  // namespace blockjacobi
