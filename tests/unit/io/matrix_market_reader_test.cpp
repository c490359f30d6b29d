#include <blockjacobi/matrix_market.hpp>

#include "parse_failure.hpp"
#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <zlib.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace blockjacobi {
namespace {

using test::ScratchFolder;

template <Scalar T>
using Oracle = std::map<std::pair<index_t, index_t>, T>;

template <Scalar T>
Oracle<T> map_of(const CsrMatrix<T>& a) {
  Oracle<T> map;
  for (index_t row = 0; row < a.rows(); ++row)
    for (offset_t k = a.row_offsets()[static_cast<std::size_t>(row)];
         k < a.row_offsets()[static_cast<std::size_t>(row) + 1]; ++k)
      map[{row, a.columns()[static_cast<std::size_t>(k)]}] = a.values()[static_cast<std::size_t>(k)];
  return map;
}

/// Reads `content` sparse and dense and compares both with the oracle (0-based).
template <Scalar T>
void expect_matrix(const std::string& content, index_t rows, index_t cols, const Oracle<T>& oracle) {
  const ScratchFolder folder;
  const auto path = folder.write("a.mtx", "%%MatrixMarket matrix " + content);
  const auto a = read_matrix_market<T>(path);
  EXPECT_EQ(a.rows(), rows) << content;
  EXPECT_EQ(a.cols(), cols) << content;
  EXPECT_EQ(a.nnz(), static_cast<offset_t>(oracle.size())) << content;
  EXPECT_NO_THROW(validate(a.view()));
  EXPECT_EQ(map_of(a), oracle) << content;

  std::vector<T> dense(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols));
  for (const auto& [position, value] : oracle)
    dense[static_cast<std::size_t>(position.first + position.second * rows)] = value;
  const auto d = read_matrix_market_dense<T>(path);
  EXPECT_EQ(d.rows, rows);
  EXPECT_EQ(d.cols, cols);
  EXPECT_EQ(d.values, dense) << content;
}

template <class T>
class MatrixMarketReaderTest : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(MatrixMarketReaderTest, Scalars);

TYPED_TEST(MatrixMarketReaderTest, CoordinateReal) {
  using T = TypeParam;
  const std::string lower = "3 3 3\n2 1 1.5\n3 1 -2\n3 2 4e0\n", with_diagonal = "3 3 3\n1 1 1.5\n3 1 -2\n3 3 4\n";
  expect_matrix<T>("coordinate real general\n" + lower, 3, 3, {{{1, 0}, T(1.5)}, {{2, 0}, T(-2)}, {{2, 1}, T(4)}});
  expect_matrix<T>("coordinate real symmetric\n" + with_diagonal, 3, 3,
                   {{{0, 0}, T(1.5)}, {{2, 0}, T(-2)}, {{0, 2}, T(-2)}, {{2, 2}, T(4)}});
  expect_matrix<T>(
      "coordinate real skew-symmetric\n" + lower, 3, 3,
      {{{1, 0}, T(1.5)}, {{0, 1}, T(-1.5)}, {{2, 0}, T(-2)}, {{0, 2}, T(2)}, {{2, 1}, T(4)}, {{1, 2}, T(-4)}});
}

TYPED_TEST(MatrixMarketReaderTest, CoordinateInteger) {
  using T = TypeParam;
  const std::string lower = "3 3 2\n2 1 7\n3 1 -2\n";
  expect_matrix<T>("coordinate integer general\n" + lower, 3, 3, {{{1, 0}, T(7)}, {{2, 0}, T(-2)}});
  expect_matrix<T>("coordinate integer symmetric\n" + lower, 3, 3,
                   {{{1, 0}, T(7)}, {{0, 1}, T(7)}, {{2, 0}, T(-2)}, {{0, 2}, T(-2)}});
  expect_matrix<T>("coordinate integer skew-symmetric\n" + lower, 3, 3,
                   {{{1, 0}, T(7)}, {{0, 1}, T(-7)}, {{2, 0}, T(-2)}, {{0, 2}, T(2)}});
}

TYPED_TEST(MatrixMarketReaderTest, CoordinatePattern) {
  using T = TypeParam;
  expect_matrix<T>("coordinate pattern general\n2 4 3\n1 1\n2 4\n2 3\n", 2, 4,
                   {{{0, 0}, T(1)}, {{1, 3}, T(1)}, {{1, 2}, T(1)}});
  expect_matrix<T>("coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n", 3, 3,
                   {{{0, 0}, T(1)}, {{2, 1}, T(1)}, {{1, 2}, T(1)}});
}

TYPED_TEST(MatrixMarketReaderTest, Array) {
  using T = TypeParam;
  for (const std::string field : {"real", "integer"}) {
    expect_matrix<T>("array " + field + " general\n2 3\n1\n2\n3\n4\n5\n0\n", 2, 3,
                     {{{0, 0}, T(1)}, {{1, 0}, T(2)}, {{0, 1}, T(3)}, {{1, 1}, T(4)}, {{0, 2}, T(5)}, {{1, 2}, T(0)}});
    expect_matrix<T>("array " + field + " symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", 3, 3,
                     {{{0, 0}, T(1)},
                      {{1, 0}, T(2)},
                      {{0, 1}, T(2)},
                      {{2, 0}, T(3)},
                      {{0, 2}, T(3)},
                      {{1, 1}, T(4)},
                      {{2, 1}, T(5)},
                      {{1, 2}, T(5)},
                      {{2, 2}, T(6)}});
    expect_matrix<T>(
        "array " + field + " skew-symmetric\n3 3\n1\n2\n3\n", 3, 3,
        {{{1, 0}, T(1)}, {{0, 1}, T(-1)}, {{2, 0}, T(2)}, {{0, 2}, T(-2)}, {{2, 1}, T(3)}, {{1, 2}, T(-3)}});
  }
}

template <class T>
class MatrixMarketComplexTest : public testing::Test {};
using ComplexScalars = testing::Types<std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(MatrixMarketComplexTest, ComplexScalars);

TYPED_TEST(MatrixMarketComplexTest, Coordinate) {
  using T = TypeParam;
  const std::string lower = "2 2 1\n2 1 3 -4\n", with_diagonal = "2 2 2\n2 1 3 -4\n2 2 5 0\n";
  expect_matrix<T>("coordinate complex general\n2 2 2\n2 1 3 -4\n2 2 5 1\n", 2, 2,
                   {{{1, 0}, T(3, -4)}, {{1, 1}, T(5, 1)}});
  expect_matrix<T>("coordinate complex symmetric\n2 2 2\n2 1 3 -4\n2 2 5 1\n", 2, 2,
                   {{{1, 0}, T(3, -4)}, {{0, 1}, T(3, -4)}, {{1, 1}, T(5, 1)}});
  expect_matrix<T>("coordinate complex skew-symmetric\n" + lower, 2, 2, {{{1, 0}, T(3, -4)}, {{0, 1}, T(-3, 4)}});
  expect_matrix<T>("coordinate complex hermitian\n" + with_diagonal, 2, 2,
                   {{{1, 0}, T(3, -4)}, {{0, 1}, T(3, 4)}, {{1, 1}, T(5, 0)}});
}

TYPED_TEST(MatrixMarketComplexTest, Array) {
  using T = TypeParam;
  expect_matrix<T>("array complex general\n2 1\n1 2\n3 4\n", 2, 1, {{{0, 0}, T(1, 2)}, {{1, 0}, T(3, 4)}});
  expect_matrix<T>("array complex symmetric\n2 2\n1 2\n3 4\n5 6\n", 2, 2,
                   {{{0, 0}, T(1, 2)}, {{1, 0}, T(3, 4)}, {{0, 1}, T(3, 4)}, {{1, 1}, T(5, 6)}});
  expect_matrix<T>("array complex skew-symmetric\n2 2\n3 4\n", 2, 2, {{{1, 0}, T(3, 4)}, {{0, 1}, T(-3, -4)}});
  expect_matrix<T>("array complex hermitian\n2 2\n1 0\n3 4\n5 0\n", 2, 2,
                   {{{0, 0}, T(1, 0)}, {{1, 0}, T(3, 4)}, {{0, 1}, T(3, -4)}, {{1, 1}, T(5, 0)}});
}

TYPED_TEST(MatrixMarketReaderTest, EmptyMatrices) {
  using T = TypeParam;
  expect_matrix<T>("coordinate real general\n0 0 0\n", 0, 0, {});
  expect_matrix<T>("coordinate real general\n3 0 0\n", 3, 0, {});
  expect_matrix<T>("coordinate pattern symmetric\n4 4 0\n\n% nothing\n", 4, 4, {});
  expect_matrix<T>("array real general\n0 3\n", 0, 3, {});
  expect_matrix<T>("array real skew-symmetric\n1 1\n", 1, 1, {});
}

TYPED_TEST(MatrixMarketReaderTest, UnsortedEntriesAndDuplicates) {
  using T = TypeParam;
  expect_matrix<T>("coordinate real general\n3 4 7\n3 4 1\n1 2 2\n3 1 4\n1 2 8\n2 2 16\n1 1 0\n3 4 32\n", 3, 4,
                   {{{0, 0}, T(0)}, {{0, 1}, T(10)}, {{1, 1}, T(16)}, {{2, 0}, T(4)}, {{2, 3}, T(33)}});
  expect_matrix<T>("coordinate real symmetric\n3 3 4\n3 3 1\n3 1 2\n1 1 4\n3 1 8\n", 3, 3,
                   {{{2, 2}, T(1)}, {{2, 0}, T(10)}, {{0, 2}, T(10)}, {{0, 0}, T(4)}});
  // Ordered by rows, with a duplicate and an unsorted row.
  expect_matrix<T>("coordinate integer general\n2 3 5\n1 3 1\n1 1 2\n1 3 4\n2 1 8\n2 2 16\n", 2, 3,
                   {{{0, 0}, T(2)}, {{0, 2}, T(5)}, {{1, 0}, T(8)}, {{1, 1}, T(16)}});
}

/// Nothing is done for each of two thousand million columns.
TEST(MatrixMarketReaderLimits, ColumnsWithoutRowsTakeNoTime) {
  const ScratchFolder folder;
  const auto path = folder.write("a.mtx", "%%MatrixMarket matrix array real general\n0 2147483647\n");
  const auto start = std::chrono::steady_clock::now();
  for (int k = 0; k < 20; ++k) {
    EXPECT_EQ(read_matrix_market<double>(path).cols(), 2147483647);
    EXPECT_EQ(read_matrix_market_dense<double>(path).cols, 2147483647);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(MatrixMarketReaderLimits, MemoryIsWhatTheSizesAskFor) {
  const ScratchFolder folder;
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  const auto rows = folder.write("rows.mtx", banner + "%\n1000000 1000000 1\n1 1 1\n");
  EXPECT_EQ(read_matrix_market<double>(rows).rows(), 1000000);
  EXPECT_EQ(read_matrix_market<double>(rows, {.memory = 8000012}).rows(), 1000000);
  test::expect_parse_error(rows, 3,
                           "a sparse 1000000 x 1000000 matrix takes 8000012 bytes, more than the limit of 8000011 "
                           "(MatrixMarketLimits::memory)",
                           [&] { static_cast<void>(read_matrix_market<double>(rows, {.memory = 8000011})); });
  test::expect_parse_error(rows, 3, "a dense 1000000 x 1000000 matrix takes 8000000000000 bytes",
                           [&] { static_cast<void>(read_matrix_market_dense<double>(rows, {.memory = 1000000000})); });
  // What a file cannot hold is not asked for, whatever it announces.
  const auto entries = folder.write("entries.mtx", banner + "2 2 1000000000000\n1 1 1\n");
  test::expect_parse_error(entries, 3, "the file ends after 1 of 1000000000000 entries",
                           [&] { static_cast<void>(read_matrix_market<double>(entries, {.memory = 1000})); });
}

/// 32 KiB that unpack to 32 MiB.
TEST(MatrixMarketReaderLimits, PackedFilesHoldNoMoreThanTheyAnnounce) {
  const ScratchFolder folder;
  const auto packed = [&](const char* name, const std::string& text) {
    const auto path = folder / name;
    const gzFile file = gzopen(path.c_str(), "wb9");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  };
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  std::string comments;
  for (int k = 0; k < (1 << 22); ++k) comments += "% never\n";

  const auto before = packed("before.mtx.gz", banner + comments + "1 1 1\n1 1 1\n");
  const std::string more =
      "the file unpacks to more than 16777216 bytes of text, which its size line does not account "
      "for (MatrixMarketLimits::text_per_entry)";
  EXPECT_LT(std::filesystem::file_size(before), 100000U);
  const auto line_of = [](auto&& read) -> offset_t {
    try {
      read();
    } catch (const ParseError& error) {
      return error.line();
    }
    return -1;
  };
  const offset_t line = line_of([&] { static_cast<void>(read_matrix_market<double>(before)); });
  EXPECT_GT(line, 1 << 20);
  test::expect_parse_error(before, line, more, [&] { static_cast<void>(read_matrix_market_header(before)); });

  const auto after = packed("after.mtx.gz", banner + "1 1 1\n" + comments + "1 1 1\n");
  const offset_t later = line_of([&] { static_cast<void>(read_matrix_market<double>(after)); });
  test::expect_parse_error(after, later, "more than 16777472 bytes of text",
                           [&] { static_cast<void>(read_matrix_market<double>(after)); });
  EXPECT_EQ(read_matrix_market<double>(after, {.text_per_entry = comments.size()}).nnz(), 1);
  EXPECT_EQ(read_matrix_market_header(after).entries, 1);

  // Plain text is as long as it is: whoever sent it paid for it.
  EXPECT_EQ(read_matrix_market<double>(folder.write("plain.mtx", banner + comments + "1 1 1\n1 1 1\n")).nnz(), 1);
}

TEST(MatrixMarketReaderLimits, PackedEntriesAreRefusedBeforeTheyAreRead) {
  const ScratchFolder folder;
  DenseMatrix<double> zeros{4000000, 1, std::vector<double>(4000000)};
  write_matrix_market(folder / "zeros.mtx.gz", zeros);
  EXPECT_EQ(read_matrix_market_dense<double>(folder / "zeros.mtx.gz").values, zeros.values);
  test::expect_parse_error(folder / "zeros.mtx.gz", 2, "the list of entries of a 4000000 x 1 matrix takes", [&] {
    static_cast<void>(read_matrix_market_dense<double>(folder / "zeros.mtx.gz", {.memory = 1000000}));
  });
}

TEST(MatrixMarketReaderDense, RefusesWhatNoMemoryHolds) {
  const ScratchFolder folder;
  const auto path =
      folder.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n%\n2147483647 2147483647 1\n1 1 1\n");
  test::expect_parse_error(path, 3, "a dense 2147483647 x 2147483647 matrix does not fit in memory",
                           [&] { static_cast<void>(read_matrix_market_dense<double>(path)); });
  const auto less =
      folder.write("b.mtx", "%%MatrixMarket matrix coordinate real general\n40000000 40000000 1\n1 1 1\n");
  test::expect_parse_error(less, 2, "a dense 40000000 x 40000000 matrix does not fit in memory",
                           [&] { static_cast<void>(read_matrix_market_dense<double>(less)); });
}

/// A random file in any notation the format allows, and the matrix it stands for.
class RandomFile {
 public:
  explicit RandomFile(unsigned seed) : engine_(seed) { generate(); }

  std::string text() const { return text_.str(); }
  const Oracle<std::complex<double>>& oracle() const { return oracle_; }
  bool complex() const { return field_ == 3; }
  index_t rows() const { return rows_; }
  index_t cols() const { return cols_; }

 private:
  using Z = std::complex<double>;

  unsigned below(unsigned n) { return static_cast<unsigned>(engine_() % n); }
  std::string blanks() { return std::string(1 + below(3), below(2) == 0 ? ' ' : '\t'); }

  void end_line() {
    if (below(4) == 0) text_ << blanks();
    text_ << (below(3) == 0 ? "\r\n" : "\n");
    if (below(8) == 0) text_ << "\n";
    if (below(8) == 0) text_ << "% comment 1 2 3\n";
  }

  /// A multiple of 1/8 below 128: sums are exact in any order and in single precision.
  double part() {
    const bool negative = below(2) == 0;
    const unsigned eighths = below(1024);
    const double value = (negative ? -1.0 : 1.0) * (field_ == 1 ? eighths : eighths / 8.0);
    text_ << blanks() << (negative ? "-" : below(3) == 0 ? "+" : "");
    if (field_ == 1) {
      text_ << eighths;
    } else if (below(3) == 0) {
      text_ << eighths * 125 << (below(2) == 0 ? "E-03" : "d-3");
    } else {
      text_ << eighths / 8 << "." << eighths % 8 * 125 + 1000;
      std::string padded = text_.str();
      padded.erase(padded.size() - 4, 1);
      text_.str(padded);
      text_.seekp(0, std::ios::end);
    }
    return value;
  }

  void entry(index_t row, index_t col) {
    Z value(1.0, 0.0);
    if (field_ != 2) {
      const double re = part();
      double im = 0.0;
      if (complex()) {
        if (symmetry_ == 3 && row == col)
          text_ << blanks() << "0";
        else
          im = part();
      }
      value = Z(re, im);
    }
    end_line();
    oracle_[{row, col}] += value;
    if (row == col || symmetry_ == 0) return;
    oracle_[{col, row}] += symmetry_ == 1 ? value : symmetry_ == 2 ? -value : std::conj(value);
  }

  void generate() {
    static const char* fields[] = {"real", "integer", "pattern", "complex"};
    static const char* symmetries[] = {"general", "symmetric", "skew-symmetric", "hermitian"};
    const bool array = below(3) == 0;
    do {
      field_ = below(4);
      symmetry_ = below(4);
    } while ((array && field_ == 2) || (field_ == 2 && symmetry_ == 2) || (symmetry_ == 3 && field_ != 3));
    rows_ = static_cast<index_t>(below(9));
    cols_ = symmetry_ == 0 ? static_cast<index_t>(below(9)) : rows_;
    text_ << "%%MatrixMarket matrix " << (array ? "array " : "coordinate ") << fields[field_] << " "
          << symmetries[symmetry_];
    end_line();
    text_ << rows_ << blanks() << cols_;
    if (array)
      generate_array();
    else
      generate_coordinate();
  }

  void generate_array() {
    end_line();
    for (index_t col = 0; col < cols_; ++col)
      for (index_t row = symmetry_ == 0 ? 0 : symmetry_ == 2 ? col + 1 : col; row < rows_; ++row) entry(row, col);
  }

  void generate_coordinate() {
    const bool possible = rows_ > 0 && cols_ > 0 && !(symmetry_ == 2 && rows_ < 2);
    std::vector<std::pair<index_t, index_t>> positions(possible ? below(60) : 0);
    for (auto& [row, col] : positions) do {
        row = static_cast<index_t>(below(static_cast<unsigned>(rows_)));
        col = static_cast<index_t>(below(static_cast<unsigned>(cols_)));
        if (symmetry_ != 0 && row < col) std::swap(row, col);
      } while (symmetry_ == 2 && row == col);
    if (below(2) == 0) std::sort(positions.begin(), positions.end());
    text_ << blanks() << positions.size();
    end_line();
    for (const auto& [row, col] : positions) {
      text_ << (below(4) == 0 ? "  " : "") << row + 1 << blanks() << (below(8) == 0 ? "+" : "") << col + 1;
      entry(row, col);
    }
  }

  std::mt19937 engine_;
  std::ostringstream text_;
  Oracle<Z> oracle_;
  unsigned field_ = 0;
  unsigned symmetry_ = 0;
  index_t rows_ = 0;
  index_t cols_ = 0;
};

template <Scalar T>
Oracle<T> oracle_as(const Oracle<std::complex<double>>& oracle) {
  Oracle<T> result;
  for (const auto& [position, value] : oracle) {
    if constexpr (is_complex<T>)
      result[position] = T(value);
    else
      result[position] = static_cast<T>(value.real());
  }
  return result;
}

TYPED_TEST(MatrixMarketReaderTest, AgreesWithAMapOnRandomFiles) {
  using T = TypeParam;
  const ScratchFolder folder;
  int read = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const RandomFile file(seed);
    if (file.complex() && !is_complex<T>) continue;
    const std::string prefix = "%%MatrixMarket matrix ";
    expect_matrix<T>(file.text().substr(prefix.size()), file.rows(), file.cols(), oracle_as<T>(file.oracle()));
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed << ":\n" << file.text();
    ++read;
  }
  EXPECT_GT(read, 150);
}

TEST(MatrixMarketReaderCollection, RealMatricesHaveTheirSizes) {
  const char* folder = std::getenv("BLOCKJACOBI_MATRICES");
  if (folder == nullptr || *folder == '\0')
    GTEST_SKIP() << "BLOCKJACOBI_MATRICES does not name a folder with real matrices";
  std::ifstream manifest(std::filesystem::path(folder) / "MANIFEST.tsv");
  ASSERT_TRUE(manifest) << folder << " has no MANIFEST.tsv";
  std::string line;
  std::getline(manifest, line);
  int count = 0;
  while (std::getline(manifest, line)) {
    std::istringstream fields(line);
    std::string name, group, n, nnz, field, symmetry;
    for (std::string* text : {&name, &group, &n, &nnz, &field, &symmetry}) std::getline(fields, *text, '\t');
    SCOPED_TRACE(name);
    const auto path = std::filesystem::path(folder) / (name + ".mtx.gz");
    ASSERT_NO_THROW({
      const auto a = read_matrix_market<std::complex<double>>(path);
      EXPECT_EQ(std::to_string(a.rows()), n);
      EXPECT_EQ(std::to_string(a.cols()), n);
      EXPECT_EQ(std::to_string(a.nnz()), nnz);
    });
    const MatrixMarketHeader h = read_matrix_market_header(path);
    EXPECT_EQ(h.field == MatrixMarketField::complex, field == "complex");
    ++count;
  }
  EXPECT_GT(count, 0);
  RecordProperty("matrices", count);
}

}  // namespace
}  // namespace blockjacobi
