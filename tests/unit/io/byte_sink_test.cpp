// Files that cannot be written, and compressed ones, seen through the writer.
#include <blockjacobi/matrix_market.hpp>

#include "scratch_folder.hpp"
#include "support/random.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace blockjacobi {
namespace {

using test::content_of;
using test::ScratchFolder;

DenseMatrix<double> column(index_t rows) { return {rows, 1, std::vector<double>(static_cast<std::size_t>(rows), 0.1)}; }

void expect_failure(const std::filesystem::path& path, const DenseMatrix<double>& x, const std::string& message) {
  try {
    write_matrix_market(path, x);
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(what.substr(0, path.string().size()), path.string());
    EXPECT_NE(what.find(message), std::string::npos) << what;
    return;
  }
  ADD_FAILURE() << "no Error for " << path;
}

TEST(ByteSinkTest, NameDecidesOnCompression) {
  const ScratchFolder folder;
  write_matrix_market(folder / "x.mtx", column(3));
  write_matrix_market(folder / "x.mtx.gz", column(3));
  EXPECT_EQ(content_of(folder / "x.mtx").substr(0, 14), "%%MatrixMarket");
  EXPECT_EQ(content_of(folder / "x.mtx.gz").substr(0, 3), "\x1f\x8b\x08");
  EXPECT_EQ(read_matrix_market_dense<double>(folder / "x.mtx.gz").values, column(3).values);
}

/// Bytes of text for one of .mtx.gz.
double packing(const DenseMatrix<double>& x) {
  const ScratchFolder folder;
  write_matrix_market(folder / "x.mtx", x);
  write_matrix_market(folder / "x.mtx.gz", x);
  EXPECT_EQ(read_matrix_market_dense<double>(folder / "x.mtx.gz").values, x.values);
  return static_cast<double>(std::filesystem::file_size(folder / "x.mtx")) /
         static_cast<double>(std::filesystem::file_size(folder / "x.mtx.gz"));
}

TEST(ByteSinkTest, PacksRandomDigitsAndRepetitions) {
  DenseMatrix<double> x = column(50000);
  test::Random random(1);
  for (double& value : x.values) value = random.real();
  EXPECT_GT(packing(x), 2.0);
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = x.values[i % 100];
  EXPECT_GT(packing(x), 8.0);
}

TEST(ByteSinkTest, ReplacesFiles) {
  const ScratchFolder folder;
  for (const char* name : {"x.mtx", "x.mtx.gz"}) {
    write_matrix_market(folder / name, column(5000));
    write_matrix_market(folder / name, column(2));
    EXPECT_EQ(read_matrix_market_dense<double>(folder / name).values, column(2).values);
  }
}

TEST(ByteSinkErrors, NoSuchFolder) {
  const ScratchFolder folder;
  for (const char* name : {"none/x.mtx", "none/x.mtx.gz"})
    expect_failure(folder / name, column(1), "cannot create: No such file or directory");
}

TEST(ByteSinkErrors, FullDevice) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const ScratchFolder folder;
  for (const char* name : {"x.mtx", "x.mtx.gz"}) {
    std::filesystem::create_symlink("/dev/full", folder / name);
    expect_failure(folder / name, column(1), "cannot write: No space left on device");
    expect_failure(folder / name, column(300000), "cannot write: No space left on device");
  }
}

}  // namespace
}  // namespace blockjacobi
