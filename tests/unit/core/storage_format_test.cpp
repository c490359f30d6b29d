#include "core/shared/storage_format.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace blockjacobi::detail {
namespace {

TEST(StorageFormat, HalvesGiveBackWhatTheyAre) {
  for (std::uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const int exponent = static_cast<int>(bits >> 10 & 31u), digits = static_cast<int>(bits & 1023u);
    if (exponent == 31) continue;
    const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(digits), -24)
                                          : std::ldexp(static_cast<float>(1024 + digits), exponent - 25);
    EXPECT_EQ(from_fp16(half), bits >> 15 != 0 ? -magnitude : magnitude);
    EXPECT_EQ(to_fp16(from_fp16(half)), half);
  }
}

TEST(StorageFormat, HalvesRoundToNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7BFFu; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const float a = from_fp16(low), b = from_fp16(high), middle = (a + b) / 2;
    ASSERT_EQ(to_fp16(middle), bits % 2 == 0 ? low : high);
    ASSERT_EQ(to_fp16(std::nextafter(middle, a)), low);
    ASSERT_EQ(to_fp16(std::nextafter(middle, b)), high);
    ASSERT_EQ(to_fp16(-std::nextafter(middle, b)), high | 0x8000u);
  }
}

TEST(StorageFormat, Bf16RoundsToNearestAndTiesToEven) {
  for (std::uint32_t bits = 0; bits < 0x7F7Fu; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits), high = static_cast<std::uint16_t>(bits + 1);
    const float middle = float_of((bits << 16) + 0x8000u);
    ASSERT_EQ(to_bf16(from_bf16(low)), low);
    ASSERT_EQ(to_bf16(middle), bits % 2 == 0 ? low : high);
    ASSERT_EQ(to_bf16(std::nextafter(middle, 0.0f)), low);
    ASSERT_EQ(to_bf16(-std::nextafter(middle, from_bf16(high))), high | 0x8000u);
  }
}

TEST(StorageFormat, TheExponentBringsTheLargestNumberIntoTheFormat) {
  for (const Format format : {Format::fp32, Format::bf16, Format::fp16}) {
    const double top = format == Format::fp16 ? 0x1p15 : 0x1p121;
    for (int e = -1074; e < 1024; ++e) {
      const double x = std::ldexp(e < -1022 ? 1.0 : 1.99, e);
      const int exponent = storage_exponent(format, x);
      ASSERT_GE(exponent, -1022);
      ASSERT_LE(exponent, 1009);
      const double stored = std::ldexp(x, -exponent);
      ASSERT_LT(stored, top) << e;
      ASSERT_GE(stored, 0x1p-53);
      if (exponent > -1022) {
        ASSERT_GE(stored, top / 2) << e;
      }
    }
    EXPECT_EQ(storage_exponent(format, 0.0), 0);
  }
  EXPECT_EQ(storage_exponent(Format::packed, 1e300), 0);
}

TEST(StorageFormat, LinesAreLostIfNoneOfTheirNumbersIsKept) {
  using Z = Complex<double>;
  const auto lost = []<Format format>(FormatTag<format>, const Z(&x)[4]) {
    std::vector<int> lines;
    for (int line = 0; line < 4; ++line)
      if (is_lost<format>(x, 2, line, 1.0)) lines.push_back(line);
    return lines;
  };
  constexpr FormatTag<Format::fp16> half;
  const Z tiny[4] = {{1, 0}, {0, 0}, {0, 0}, {0x1p-26, -0x1p-26}};
  EXPECT_EQ(lost(half, tiny), (std::vector<int>{1, 3}));
  EXPECT_EQ(lost(FormatTag<Format::bf16>{}, tiny), std::vector<int>{});
  const Z column[4] = {{1, 0}, {0, 1}, {0x1p-26, 0}, {0x1p-30, 0}};
  EXPECT_EQ(lost(half, column), std::vector<int>{3});
  const Z row[4] = {{1, 0}, {0x1p-30, 0}, {1, 0}, {0, 0}};
  EXPECT_EQ(lost(half, row), std::vector<int>{1});
  const Z imaginary[4] = {{1, 0}, {0, 0}, {0, 0}, {0x1p-40, 0x1p-24}};
  EXPECT_EQ(lost(half, imaginary), std::vector<int>{});
  const Z zeros[4] = {{1, 0}, {0, 0}, {0, 0}, {0, 0}};
  EXPECT_EQ(lost(half, zeros), std::vector<int>{}) << "zeros lose nothing";
  EXPECT_EQ(lost(FormatTag<Format::fp32>{}, zeros), std::vector<int>{});
}

TEST(StorageFormat, TrianglesArePackedColumnByColumn) {
  for (const int n : {1, 2, 5, 512}) {
    offset_t next = 0;
    for (int j = 0; j < n; ++j)
      for (int i = j; i < n; ++i) ASSERT_EQ(packed_index(i, j, n), next++);
    EXPECT_EQ(format_block_bytes(Format::packed, n, 8, 2), next * 16);
  }
}

TEST(StorageFormat, HermitianPairsMayDifferByRounding) {
  constexpr double eps = 0x1p-52;
  EXPECT_TRUE(is_hermitian_pair(1.0, 1.0 + 60 * eps, 1.0, 1.0));
  EXPECT_FALSE(is_hermitian_pair(1.0, 1.0 + 80 * eps, 1.0, 1.0));
  EXPECT_TRUE(is_hermitian_pair(1e-16, 0.0, 1e3, 1e-3));  // what is left of a sum that cancelled
  EXPECT_FALSE(is_hermitian_pair(1e-12, 0.0, 1e3, 1e-3));
  EXPECT_TRUE(is_hermitian_pair(0.0, 0.0, 0.0, 0.0));
  using Z = Complex<double>;
  EXPECT_TRUE(is_hermitian_pair(Z{1, 2}, Z{1, -2}, Z{1, 0}, Z{1, 0}));
  EXPECT_FALSE(is_hermitian_pair(Z{1, 2}, Z{1, 2}, Z{1, 0}, Z{1, 0}));
  EXPECT_FALSE(is_hermitian_pair(Z{1, 1}, Z{1, 1}, Z{1, 1}, Z{1, 1}));  // a diagonal that is not real
}

}  // namespace
}  // namespace blockjacobi::detail
