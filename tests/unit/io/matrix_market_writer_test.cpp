#include <blockjacobi/matrix_market.hpp>

#include "scratch_folder.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace blockjacobi {
namespace {

using test::content_of;
using test::ScratchFolder;
using Symmetry = MatrixMarketSymmetry;

template <class T>
bool same_bytes(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <Scalar T>
void expect_identical(const CsrMatrix<T>& a, const CsrMatrix<T>& b) {
  EXPECT_EQ(a.rows(), b.rows());
  EXPECT_EQ(a.cols(), b.cols());
  EXPECT_TRUE(same_bytes(a.row_offsets(), b.row_offsets()));
  EXPECT_TRUE(same_bytes(a.columns(), b.columns()));
  EXPECT_TRUE(same_bytes(a.values(), b.values()));
}

/// Any finite bit pattern: subnormal, huge, negative zero.
template <class R>
R random_real(std::mt19937_64& engine) {
  using Bits = std::conditional_t<sizeof(R) == 4, std::uint32_t, std::uint64_t>;
  for (;;) {
    const R value = std::bit_cast<R>(static_cast<Bits>(engine()));
    if (std::isfinite(value)) return value;
  }
}

template <Scalar T>
T random_scalar(std::mt19937_64& engine) {
  const auto re = random_real<real_t<T>>(engine);
  if constexpr (is_complex<T>)
    return T(re, random_real<real_t<T>>(engine));
  else
    return re;
}

template <Scalar T>
T mirror(Symmetry symmetry, T value) {
  if (symmetry == Symmetry::skew_symmetric) return -value;
  if constexpr (is_complex<T>)
    if (symmetry == Symmetry::hermitian) return std::conj(value);
  return value;
}

template <Scalar T>
CsrMatrix<T> random_matrix(index_t rows, index_t cols, int entries, Symmetry symmetry, std::mt19937_64& engine) {
  std::vector<std::vector<bool>> taken(static_cast<std::size_t>(rows),
                                       std::vector<bool>(static_cast<std::size_t>(cols)));
  std::vector<Triplet<T>> triplets;
  for (int k = 0; k < entries; ++k) {
    auto row = static_cast<index_t>(engine() % static_cast<unsigned>(rows));
    auto col = static_cast<index_t>(engine() % static_cast<unsigned>(cols));
    if (symmetry != Symmetry::general && row < col) std::swap(row, col);
    if (symmetry == Symmetry::skew_symmetric && row == col) continue;
    if (taken[static_cast<std::size_t>(row)][static_cast<std::size_t>(col)]) continue;
    taken[static_cast<std::size_t>(row)][static_cast<std::size_t>(col)] = true;
    T value = random_scalar<T>(engine);
    if (symmetry == Symmetry::hermitian && row == col) value = T(std::real(value));
    triplets.push_back({row, col, value});
    if (symmetry != Symmetry::general && row != col) triplets.push_back({col, row, mirror(symmetry, value)});
  }
  return CsrMatrix<T>::from_triplets(rows, cols, triplets);
}

template <class F>
void expect_invalid(const std::string& text, F&& f) {
  try {
    f();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << "no '" << text << "' in: " << error.what();
    return;
  }
  ADD_FAILURE() << "no InvalidArgument, expected: " << text;
}

template <class T>
class MatrixMarketWriterTest : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(MatrixMarketWriterTest, Scalars);

TYPED_TEST(MatrixMarketWriterTest, CoordinateRoundTripsBitForBit) {
  using T = TypeParam;
  const ScratchFolder folder;
  std::mt19937_64 engine(11);
  for (const char* name : {"a.mtx", "a.mtx.gz"})
    for (const Symmetry symmetry :
         {Symmetry::general, Symmetry::symmetric, Symmetry::skew_symmetric, Symmetry::hermitian}) {
      const index_t cols = symmetry == Symmetry::general ? 90 : 70;
      const auto a = random_matrix<T>(70, cols, 2000, symmetry, engine);
      ASSERT_GT(a.nnz(), 1000);
      write_matrix_market(folder / name, a, symmetry);
      expect_identical(read_matrix_market<T>(folder / name), a);
      const MatrixMarketHeader h = read_matrix_market_header(folder / name);
      EXPECT_EQ(h.format, MatrixMarketFormat::coordinate);
      EXPECT_EQ(h.field, is_complex<T> ? MatrixMarketField::complex : MatrixMarketField::real);
      EXPECT_EQ(h.symmetry, symmetry == Symmetry::hermitian && !is_complex<T> ? Symmetry::symmetric : symmetry);
      if (symmetry == Symmetry::general)
        EXPECT_EQ(h.entries, a.nnz());
      else
        EXPECT_LT(h.entries, a.nnz() * 2 / 3) << "only the lower triangle";
    }
}

TYPED_TEST(MatrixMarketWriterTest, ArrayRoundTripsBitForBit) {
  using T = TypeParam;
  const ScratchFolder folder;
  std::mt19937_64 engine(12);
  for (const char* name : {"x.mtx", "x.mtx.gz"}) {
    DenseMatrix<T> x{17, 40, {}};
    for (int k = 0; k < 17 * 40; ++k) x.values.push_back(random_scalar<T>(engine));
    write_matrix_market(folder / name, x);
    const auto y = read_matrix_market_dense<T>(folder / name);
    EXPECT_EQ(y.rows, 17);
    EXPECT_EQ(y.cols, 40);
    EXPECT_TRUE(same_bytes(std::span<const T>(y.values), std::span<const T>(x.values)));
  }
}

TYPED_TEST(MatrixMarketWriterTest, SpecialValuesRoundTrip) {
  using T = TypeParam;
  using R = real_t<T>;
  using Limits = std::numeric_limits<R>;
  const ScratchFolder folder;
  const DenseMatrix<T> x{8,
                         1,
                         {T(R(0)), T(-R(0)), T(Limits::max()), T(Limits::lowest()), T(Limits::min()),
                          T(Limits::denorm_min()), T(-Limits::denorm_min()), T(R(1) + Limits::epsilon())}};
  write_matrix_market(folder / "x.mtx", x);
  const auto y = read_matrix_market_dense<T>(folder / "x.mtx");
  EXPECT_TRUE(same_bytes(std::span<const T>(y.values), std::span<const T>(x.values)));
}

TYPED_TEST(MatrixMarketWriterTest, EmptyMatrices) {
  using T = TypeParam;
  const ScratchFolder folder;
  for (const Symmetry symmetry : {Symmetry::general, Symmetry::symmetric}) {
    write_matrix_market(folder / "a.mtx", CsrMatrix<T>(), symmetry);
    expect_identical(read_matrix_market<T>(folder / "a.mtx"), CsrMatrix<T>());
  }
  write_matrix_market(folder / "x.mtx", DenseMatrix<T>{0, 3, {}});
  EXPECT_EQ(read_matrix_market_dense<T>(folder / "x.mtx").cols, 3);
}

TEST(MatrixMarketWriterText, Coordinate) {
  const ScratchFolder folder;
  const CsrMatrix<double> a(2, 2, {0, 2, 4}, {0, 1, 0, 1}, {1.5, 0.1, 0.1, -2e30});
  write_matrix_market(folder / "a.mtx", a);
  EXPECT_EQ(content_of(folder / "a.mtx"),
            "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1.5\n1 2 0.1\n2 1 0.1\n2 2 -2e+30\n");
  write_matrix_market(folder / "a.mtx", a, Symmetry::symmetric, "first line\nsecond\n");
  EXPECT_EQ(content_of(folder / "a.mtx"),
            "%%MatrixMarket matrix coordinate real symmetric\n% first line\n% second\n"
            "2 2 3\n1 1 1.5\n2 1 0.1\n2 2 -2e+30\n");
  EXPECT_EQ(read_matrix_market<double>(folder / "a.mtx").nnz(), 4);
}

TEST(MatrixMarketWriterText, ComplexHermitian) {
  using Z = std::complex<double>;
  const ScratchFolder folder;
  const CsrMatrix<Z> a(2, 2, {0, 2, 3}, {0, 1, 0}, {Z(2, 0), Z(1, 3), Z(1, -3)});
  write_matrix_market(folder / "a.mtx", a, Symmetry::hermitian);
  EXPECT_EQ(content_of(folder / "a.mtx"),
            "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 2 0\n2 1 1 -3\n");
}

TEST(MatrixMarketWriterText, ArrayAndSinglePrecision) {
  const ScratchFolder folder;
  write_matrix_market(folder / "x.mtx", DenseMatrix<float>{2, 1, {0.1F, 16777216.0F}}, "float");
  EXPECT_EQ(content_of(folder / "x.mtx"), "%%MatrixMarket matrix array real general\n% float\n2 1\n0.1\n16777216\n");
}

TEST(MatrixMarketWriterErrors, SymmetryIsVerifiedBeforeAnythingIsWritten) {
  using Z = std::complex<double>;
  const ScratchFolder folder;
  const auto path = folder / "a.mtx";
  const CsrMatrix<double> rectangle(1, 2, {0, 1}, {0}, {1.0});
  expect_invalid("the matrix is 1 x 2, must be square to be symmetric",
                 [&] { write_matrix_market(path, rectangle, Symmetry::symmetric); });

  const CsrMatrix<double> missing(3, 3, {0, 1, 2, 3}, {0, 2, 2}, {1.0, 5.0, 1.0});
  expect_invalid("not symmetric: entry (1, 2) is 5, entry (2, 1) is missing",
                 [&] { write_matrix_market(path, missing, Symmetry::symmetric); });

  const CsrMatrix<double> different(2, 2, {0, 1, 2}, {1, 0}, {2.0, 2.5});
  expect_invalid("not symmetric: entry (0, 1) is 2, entry (1, 0) is 2.5",
                 [&] { write_matrix_market(path, different, Symmetry::symmetric); });
  expect_invalid("not skew-symmetric: entry (0, 1) is 2, entry (1, 0) is 2.5",
                 [&] { write_matrix_market(path, different, Symmetry::skew_symmetric); });

  const CsrMatrix<double> lower(2, 2, {0, 0, 1}, {0}, {7.0});
  expect_invalid("entry (1, 0) is 7, entry (0, 1) is missing",
                 [&] { write_matrix_market(path, lower, Symmetry::hermitian); });

  const CsrMatrix<double> zero_diagonal(1, 1, {0, 1}, {0}, {0.0});
  expect_invalid("not skew-symmetric: diagonal entry (0, 0) is 0",
                 [&] { write_matrix_market(path, zero_diagonal, Symmetry::skew_symmetric); });

  const CsrMatrix<Z> diagonal(1, 1, {0, 1}, {0}, {Z(1, 2)});
  expect_invalid("not hermitian: diagonal entry (0, 0) is (1, 2)",
                 [&] { write_matrix_market(path, diagonal, Symmetry::hermitian); });
  const CsrMatrix<Z> complex_symmetric(2, 2, {0, 1, 2}, {1, 0}, {Z(1, 2), Z(1, 2)});
  expect_invalid("not hermitian: entry (0, 1) is (1, 2), entry (1, 0) is (1, 2)",
                 [&] { write_matrix_market(path, complex_symmetric, Symmetry::hermitian); });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MatrixMarketWriterErrors, NotFinite) {
  const ScratchFolder folder;
  const auto path = folder / "a.mtx";
  const double infinity = std::numeric_limits<double>::infinity();
  const CsrMatrix<double> a(2, 2, {0, 1, 2}, {0, 1}, {1.0, -infinity});
  expect_invalid("entry (1, 1) is -inf, the format holds finite numbers only", [&] { write_matrix_market(path, a); });
  const DenseMatrix<double> x{2, 2, {1.0, 1.0, std::nan(""), 1.0}};
  expect_invalid("entry (0, 1) is nan", [&] { write_matrix_market(path, x); });
  const DenseMatrix<std::complex<float>> z{1, 1, {{0.0F, std::numeric_limits<float>::infinity()}}};
  expect_invalid("entry (0, 0) is (0, inf)", [&] { write_matrix_market(path, z); });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(MatrixMarketWriterErrors, DenseSizes) {
  const ScratchFolder folder;
  expect_invalid("a dense 2 x 3 matrix with 5 values", [&] {
    write_matrix_market(folder / "x.mtx", DenseMatrix<double>{2, 3, std::vector<double>(5)});
  });
  expect_invalid("a dense -1 x -1 matrix with 1 values", [&] {
    write_matrix_market(folder / "x.mtx", DenseMatrix<double>{-1, -1, {1.0}});
  });
}

}  // namespace
}  // namespace blockjacobi
